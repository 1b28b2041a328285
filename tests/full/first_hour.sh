#!/usr/bin/env bash
# The first hour of a user, from a fresh clone to a verdict on a pool, then commands that are wrong: on 563 pairs of real
# photos with every kind of broken row (`first_pool.py`), with COCO as the only evaluation set, and the demo's toy models
# in place of the papers'. DATA is a folder with coco_mini; the terminal's text goes to stdout, as in first_hour.txt.
# From the root of the clone:
#   bash tests/full/first_hour.sh DATA > first_hour.txt
set -u
data=$1
folder=$(mktemp -d)
export HF_HUB_OFFLINE=1 XDG_CACHE_HOME=$folder/cache COLUMNS=110
began=$SECONDS
typed() {
    printf '\n$ %s\n' "$*"
    local at=$SECONDS
    bash -c "$*" 2>&1 | sed "s#$folder#FOLDER#g; s#$PWD#CLONE#g"
    printf '[exit code %d, %d s]\n' "${PIPESTATUS[0]}" $((SECONDS - at))
}
typed make setup
. .venv/bin/activate
python -m tests.full.first_pool "$data" "$folder"
cd "$folder" || exit 1

# README's three commands, with this pool's folder and size; models=demo as there is no hub here.
export COCO_ROOT=coco
typed python -m benchmark pool=img2dataset pool.url=my_pool filter=random,clip,icc size=50k budget=500k seed=0,1,2
mine="pool=img2dataset pool.url=my_pool models=demo size=200 budget=2000"
typed "python -m benchmark $mine filter=random,clip,icc seed=0,1,2"
typed python -m benchmark task=report
printf '\nThe first verdict after %d s.\n' $((SECONDS - began))

# docs/own_pool.md: the rest of its walk.
typed python -m benchmark task=doctor $mine filter=random,clip,icc
typed python -m benchmark task=fetch $mine filter=random,clip,icc
typed python -m benchmark $mine filter=random,clip,icc plan=true
typed python -m benchmark $mine filter=clip evalset.limit=20 budget=200 results_dir=quick
typed python -m benchmark task=report results_dir=quick
typed "python -m benchmark $mine filter=clip size=10% downstream=dual_encoder results_dir=tenth"
typed "python -m benchmark $mine filter=clip size=all downstream=dual_encoder results_dir=all"
typed "python -m benchmark task=export $mine filter=clip && cat \$(python -m benchmark task=export $mine filter=clip 2>/dev/null)/README.md"
typed "timeout -s TERM 8 python -m benchmark task=score $mine filter=clip rescore=true"
typed python -m benchmark --help filter=icc
typed "python -m benchmark --help own_pool | head -5"

# The commands that earlier walks got a wrong answer for.
wrong() { typed python -m benchmark "$@"; }
wrong $mine filter=random size=532
wrong $mine filter=random size=530
wrong $mine filter=clip size=0
wrong $mine filter=clip size=-5
wrong $mine filter=clip size=200kk
wrong $mine filter=clip filter.min=0.28
wrong $mine filter=clip filter.rnk=true
wrong pool.url=/data/x filter=clip
wrong task=report metric=CIDEr
wrong task=report "metrics=[cider]"
wrong --resolve filter=clip
wrong $mine filter=clip "metrics=[]"
wrong filter=clip budget=2m downstream.captioner.training.samples_seen=5
wrong $mine filter=clip evalset=paper

# Commands that nobody had named.
wrong pool=img2dataset
wrong pool=img2dataset pool.url=/nowhere filter=icc
wrong pool=img2dataset pool.url=my_pool/00000.tar filter=icc models=demo size=20
wrong pool=my_pool filter=icc
wrong $mine filter=icc,clipp
wrong $mine filter=
wrong $mine filter=clip size=120%
wrong $mine filter=clip budget=0
wrong $mine filter=clip seed=first
wrong $mine filter=clip downstream=captionr
wrong $mine filter=clip downstream.captioner.training.lr=fast
wrong $mine filter=clip downstream.captioner.traning.lr=1e-4
wrong $mine filter=clip filter.minimum=2 filter.maximum=1
wrong $mine filter=clip filter.minimum=5
wrong $mine filter=clip device=cuda:7
wrong $mine filter=clip selection.tolerate=2
wrong $mine filter=clip evalset.limit=0
wrong $mine filter=clip pool.columns.text=words
wrong $mine filter=score_file filter.path=scores.csv
wrong $mine filter=clip tracker=wandbb
wrong task=reprot
wrong task=report results_dir=nowhere
wrong task=export $mine filter=clip task.output=my_pool
wrong "filter._target_=os.getcwd"
COCO_ROOT=/nowhere wrong $mine filter=clip
echo "$folder/results/report.html"
