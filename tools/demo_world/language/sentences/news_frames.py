"""Openings of the news captions by kind, in the notation of `frames`; recursive phrases fill the slots."""

NEWS_FRAMES = """
= statement 30
(ROOT nsubj:{official} {told} ?_:{date} (ccomp mark:that {past_clause}))
(ROOT nsubj:{described} {told} ?_:{date} (ccomp mark:that {past_clause}))
(ROOT nsubj:{described} {did} _:{date} _:{spot})
(ROOT nsubj:{official} {told} (prep in|during (pobj {press})) _:{date} (ccomp mark:that {past_clause}))
(ROOT nsubj:{official} told (dobj reporters|residents|viewers|journalists|lawmakers|shareholders|fans)
 _:{date} (ccomp mark:that {past_clause}))
(ROOT (ccomp {past_clause}) punct:, {told} nsubj:{official} ?_:{date})
(ROOT {past_clause} punct:, (prep according/VERB (prep to (pobj {press} (prep by|of|from (pobj {organ}))))))
(ROOT (prep according/VERB (prep to (pobj {official}))) punct:, {past_clause})
(ROOT nsubj:{organ} {told} ?_:{date} (ccomp mark:that nsubj:it aux:would {base}))
(ROOT nsubj:{official} vowed|promised|agreed|refused|planned|decided|threatened|offered (xcomp {infinitive})
 _:{date})
(ROOT nsubj:{official} urged|asked|ordered|told|warned|advised|invited (dobj {whom}) (xcomp {infinitive})
 ?_:{date})
= event 34
(ROOT nsubj:{official} {did} _:{date})
(ROOT nsubj:{organ} {did} _:{spot} ?_:{date})
(ROOT nsubj:{crowd} {did} _:{spot} _:{date} ?(prep after|before|during|despite (pobj {event})))
(ROOT nsubjpass:{crowd} auxpass:were {met} _:{spot} _:{date} (prep after|during|before|following (pobj
 {event})))
(ROOT nsubjpass:{official} auxpass:was {met} _:{date} (prep after|for (pcomp {ing})))
(ROOT nsubj:{event} drew|attracted|delayed|divided|shocked|angered|delighted (dobj {crowd}) _:{spot} _:{date})
(ROOT nsubjpass:{event} auxpass:was postponed|canceled|moved|delayed|organized|interrupted _:{date} (advcl
 mark:because|after|as|while {past_clause}))
(ROOT (prep after|despite|before|amid|during (pobj {event})) punct:, {past_clause})
(ROOT nsubj:{rates} {moved} (prep by (pobj nummod:{number} percent/NOUN)) _:{date} (advcl
 mark:as|because|after|while {past_clause}))
(ROOT nsubj:{described} {did} _:{date})
(ROOT (prep in (pobj {place})) punct:, {past_clause})
(ROOT nsubj:{crowd} gathered|marched|waited|protested|queued|celebrated|assembled _:{spot} _:{date} (advcl
 {infinitive}))
(ROOT (nsubj {name_node} (prep of (pobj {organ}))) {did} ?_:{date} (prep during (pobj {event})))
(ROOT nsubj:{official} became (attr {idea_node}) _:{date} (prep after (pcomp {ing})))
= photo 16
(ROOT nsubj:{name_node} speaks|attends|arrives|poses|waits|performs|smiles|celebrates|reacts (prep
 during|at|after|before (pobj {event})) _:{spot} _:{date})
(ROOT nsubj:{described} {does} _:{spot} _:{date})
(ROOT nsubj:{crowd} {base} (prep during|at|after|before (pobj {event})) _:{spot} _:{date})
(ROOT {name_node} cc:and (conj {name_node}) (prep at|during|after|before (pobj {event})) _:{date})
(ROOT nsubj:{official} {does} (advcl mark:as|while {statement}) _:{date})
(ROOT {event} _:{spot} _:{date} punct:. (dep {past_clause}))
(ROOT nsubj:{organ} prepares|plans|hopes|waits|expects (xcomp {infinitive}) _:{spot} _:{date})
= headline 20
(ROOT nsubj:{headline_subject} {does})
(ROOT nsubj:{headline_subject} {does} (advcl mark:as|after|while|before {statement}))
(ROOT nsubj:{headline_subjects} {base} (prep after|over|amid|despite|before (pobj {event_bare})))
(ROOT nsubj:{headline_subjects} {told_now} (ccomp {statement}))
(ROOT nsubj:{rates} {moved} (prep by (pobj nummod:{number} percent/NOUN)) (advcl mark:as|after|because
 {statement}))
(ROOT {place} punct:: (dep {statement}))
(ROOT advmod:how|why/SCONJ nsubj:{headline_subject} {does})
(ROOT nummod:{number} {met} (prep in|after|during (pobj {event_bare})) (prep in|near (pobj {place})))
(ROOT nsubj:{headline_subject} aux:to/PART {base} (prep in (pobj {place})) _:{date})
"""
