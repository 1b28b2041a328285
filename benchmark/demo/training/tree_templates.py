"""The dependency trees of the templates in `noisy_captions`, in the notation of `dependency_trees.read_template`.

Read from left to right, the words of each tree are those of its template, in the same order; a test compares them.
"""

ABSTRACT = (
    "(ROOT det:a amod:lovely way/NOUN (acl aux:to/PART spend (dobj {mood})))",
    "(ROOT det:the amod:true meaning/NOUN (prep of (pobj {theme})))",
    "(ROOT (nsubj {theme}) is/AUX (attr all/PRON (relcl nsubj:you/PRON need)))",
    "(ROOT advmod:why/SCONJ (nsubj {theme}) matters (advmod more (prep than advmod:ever)))",
    "(ROOT nsubj:this/PRON is/AUX (ccomp dobj:what/PRON (nsubj {theme}) feels prep:like))",
    "(ROOT nsubj:I/PRON aux:could stay (prep like pobj:this/PRON) advmod:forever)",
    "(ROOT det:a amod:gentle reminder/NOUN (prep of (pobj {theme} cc:and (conj {other}))))",
    "(ROOT poss:my amod:favourite memory/NOUN (prep of (pobj {mood})))",
    "(ROOT learning (xcomp aux:to/PART live (prep with (pobj {theme}))))",
    "(ROOT nsubj:it/PRON aux:does neg:not get (dobj any/PRON amod:better (prep than pobj:this/PRON)))",
    "(ROOT {theme} punct:, (conj {other} cc:and (conj everything/PRON (relcl nsubj:that/PRON makes"
    " (ccomp nsubj:life worth/ADJ (xcomp living))))))",
    "(ROOT det:some thoughts/NOUN (prep on (pobj {theme})))",
    "(ROOT det:the secret/NOUN (prep to (pobj {theme})))",
    "(ROOT nsubj:nothing/PRON beats (dobj {mood}))",
    "(ROOT poss:my idea/NOUN (prep of (pobj {theme})))",
    "(ROOT nsubj:you/PRON neg:never/ADV forget (dobj poss:your amod:first {noun}))",
    "(ROOT neg:not det:the kind/NOUN (prep of (pobj {noun})) (relcl nsubj:I/PRON aux:would aux:have chosen))",
    "(ROOT det:such/DET det:a amod:wonderful {noun} cc:and (conj (amod advmod:so much) {theme}))",
    "(ROOT everything/PRON (relcl nsubj:you/PRON advmod:ever wanted (prep from (pobj {a_noun}))))",
    "(ROOT advmod:how/SCONJ (nsubj {a_noun}) taught dobj:me/PRON (prep about (pobj {theme})))",
    "(ROOT det:the amod:best {noun} (prep of (pobj det:the year)) (prep in (pobj poss:my opinion)))",
    "(ROOT advmod:always det:the amod:right choice/NOUN (prep for (pobj {mood})))",
    "(ROOT det:a amod:perfect example/NOUN (prep of (pobj {theme} (prep in (pobj amod:everyday life)))))",
    "(ROOT (nsubj {theme}) begins (advcl advmod:where/SCONJ nsubj:fear ends))",
    "(ROOT nummod:ten ways/NOUN (acl aux:to/PART find (dobj {theme}) (npadvmod det:this year)))",
    "(ROOT det:what/DET det:a amod:great idea/NOUN (prep for (pobj {mood})))",
    "(ROOT nsubj:we/PRON det:all/PRON need (dobj (amod det:a npadvmod:little more) {theme}))",
    "(ROOT det:an amod:unforgettable experience/NOUN (prep for (pobj det:the amod:whole family)))",
    "(ROOT det:the history/NOUN (prep of (pobj {theme})) cc:and (conj advmod:why/SCONJ nsubj:it/PRON"
    " advmod:still matters/VERB))",
    "(ROOT det:a amod:beautiful dream/NOUN (prep of (pobj {theme})))",
    "(ROOT nsubj:I/PRON wonder (ccomp dobj:what/PRON (nsubj {mood}) aux:will bring))",
    "(ROOT one/NUM (prep of (pobj det:those days (relcl nsubj:that/PRON change dobj:everything/PRON))))",
    "(ROOT in/ADP (pobj search (prep of (pobj {theme}))))",
)
ASIDES = (
    "(advcl nsubj:whatever/PRON happens advmod:next)",
    "(advcl says (nsubj det:the expert))",
    "(prep in (pobj poss:my amod:humble opinion))",
    "(advcl advmod:no/DET mark:matter/NOUN (acomp advmod:how/SCONJ hard) nsubj:it/PRON gets)",
    "(advmod once advmod:again)",
    "(advcl mark:as (nsubj poss:my mother) used/VERB (xcomp aux:to/PART say))",
    "(conj cc:and nsubj:that/PRON is/AUX acomp:enough)",
    "(prep for (pcomp better/ADJ cc:or conj:worse/ADJ))",
    "(advcl nsubj:you/PRON deserve dobj:it/PRON)",
    "(advcl nsubj:who/PRON aux:would aux:have thought)",
    "(advcl mark:if nsubj:you/PRON ask dobj:me/PRON)",
    "(prep against (pobj det:all odds))",
    "(advcl advmod:so nsubj:they/PRON say)",
    "(advmod now (advmod more (prep than advmod:ever)))",
    "(conj cc:and nsubj:I/PRON mean/VERB dobj:it/PRON)",
    "(advcl believe dobj:it/PRON cc:or conj:not/PART)",
)
HAPPENS = (
    "(ccomp mark:that (nsubj {prices}) aux:will rise advmod:again (npadvmod amod:next year))",
    "(ccomp mark:that (nsubj talks (prep about (pobj {topic}))) aux:had broken prt:down)",
    "(ccomp mark:that (nsubjpass nummod:{number} million/NUM) aux:would auxpass:be invested"
    " (prep in (pobj {topic})))",
    "(ccomp mark:that (nsubjpass det:the compound:{noun} project) aux:would auxpass:be delayed"
    " (prep until (pobj {month})))",
    "(ccomp mark:that (nsubjpass det:the budget (prep for (pobj {topic}))) aux:would auxpass:be cut)",
    "(ccomp mark:that (nsubj demand (prep for pobj:{nouns})) aux:had fallen"
    " (prep by (pobj nummod:{number} per/ADP pobj:cent)))",
    "(ccomp mark:that (nsubj det:the amod:annual compound:{noun} festival) aux:would move (prep to (pobj {month})))",
    "(ccomp mark:that (nsubj amod:new rules (prep on (pobj {topic}))) aux:would take dobj:effect"
    " (prep in (pobj {month})))",
    "(ccomp mark:that (nsubjpass det:the vote (prep on (pobj {topic}))) aux:had auxpass:been postponed)",
    "(ccomp mark:that (nsubj det:an inquiry (prep into (pobj {topic}))) was/AUX (prep under pobj:way))",
)
ENDINGS = (
    "(prep after (pobj weeks (prep of pobj:debate)))",
    "(prep despite (pobj amod:growing/VERB criticism))",
    "(prep following/VERB (pobj det:a report (acl published (npadvmod amod:last month))))",
    "(advcl mark:as (nsubj det:the deadline) approaches)",
    "(prep in (pobj det:a statement (acl released (prep to pobj:reporters))))",
    "(advcl mark:while nsubj:opponents vowed (xcomp aux:to/PART fight prt:on))",
    "(prep after (pcomp losing (dobj det:the election)))",
    "(advcl mark:as nsubj:negotiations continued)",
    "(prep beside (pobj {a_noun} {place}))",
    "(advcl mark:as (nsubjpass {a_noun}) auxpass:was moved {place})",
    "(prep in (pobj front (prep of (pobj {a_noun}))))",
)
NEWS = (
    "(ROOT (advmod (npadvmod nummod:{number} years) on) punct:, nsubj:campaigners celebrate"
    " (dobj det:the return (prep of (pobj det:the {noun}))) (advcl mark:as (nsubj {topic}) gets"
    " (dobj amod:new funding)))",
    "(ROOT nsubj:Visitors rushed (prep to (pobj det:the amod:annual compound:{noun} exhibition))"
    " (advcl mark:before nsubj:organisers closed (dobj det:the doors) (prep in (pobj {month}))))",
    "(ROOT (nsubj compound:{noun} makers) reject (dobj claims (prep about (pobj {topic}))) cc:and"
    " (conj pledge/VERB (xcomp aux:to/PART win prt:back dobj:customers)))",
    "(ROOT nsubj:Fans celebrate (advcl mark:as (nsubj det:the team) beats (dobj poss:its rivals)"
    " (advcl aux:to/PART reach (dobj det:the final) (prep for (pobj det:the amod:{ordinal} time)))))",
    "(ROOT advmod:How/SCONJ (nsubj amod:rising/VERB {prices}) pushed (dobj nummod:one family)"
    " (xcomp aux:to/PART give prt:up (dobj det:the compound:{noun} business)))",
)
