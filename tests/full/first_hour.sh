#!/usr/bin/env bash
# The first hour of a user, from a fresh clone to a table of a pool, and commands that are wrong, on 400 pairs of real
# photos with toy models. DATA is a folder with coco_mini; the terminal's text goes to stdout. From the root of the clone:
#   bash tests/full/first_hour.sh DATA > first_hour.txt
set -u
data=$1
folder=$(mktemp -d)
export HF_HUB_OFFLINE=1 XDG_CACHE_HOME=$folder/cache COLUMNS=110
typed() {
    printf '\n$ %s\n' "$*"
    local began=$SECONDS
    bash -c "$*" 2>&1
    printf '[exit code %d, %d s]\n' $? $((SECONDS - began))
}
typed make setup
. .venv/bin/activate
python -m tests.full.first_pool "$data" "$folder"
cd "$folder" || exit 1

typed python -m benchmark pool=img2dataset
typed python -m benchmark pool=img2dataset pool.url=/nowhere
typed "mkdir empty; python -m benchmark pool=img2dataset pool.url=empty"
typed python -m benchmark pool=img2dataset pool.url=my_pool filter=icc size=100
typed python -m benchmark pool=img2dataset pool.url=my_pool filter=icc size=100 models=demo
typed python -m benchmark pool=img2dataset pool.url=my_pool filter=icc size=9m models=demo
typed python -m benchmark filter._target_=os.getcwd
typed python -m benchmark task=profile pool=img2dataset pool.url=my_pool
typed python -m benchmark engine=ray engine.address=nowhere

export COCO_ROOT=coco
mine="pool=img2dataset pool.url=my_pool models=demo '~evalset.nocaps' '~evalset.flickr30k' size=100 budget=1000"
typed "python -m benchmark task=doctor $mine filter=random,clip,icc"
typed "python -m benchmark task=fetch $mine filter=random,clip,icc"
typed "python -m benchmark $mine filter=random,clip,icc plan=true"
typed "python -m benchmark $mine filter=random,clip,icc"
typed python -m benchmark task=report
typed "python -m benchmark $mine filter=clip plan=true"
typed "python -m benchmark task=export $mine filter=clip && cat \$(python -m benchmark task=export $mine filter=clip 2>/dev/null)/README.md"
echo "$folder/results/report.html"
