"""Words of the grade-0 captions that fit every topic, by class; within a class the most frequent word first."""

COMMON_WORDS = """
ideas: idea mistake lesson story problem question secret reason truth fact answer moment challenge change step
 rule reminder example sign surprise myth gift list risk result solution thing dream journey tradition detail
 difference experience opportunity choice opinion memory tip trick thought principle goal view chapter failure
 success expectation promise conversation argument debate crisis disaster adventure mystery discovery guide
 habit skill routine plan project method approach theory perspective attitude pattern impression impact
 consequence advantage benefit drawback compromise excuse explanation conclusion ending beginning milestone
 turning-point burden blessing curse shortcut obstacle barrier victory loss struggle responsibility duty task
 hope concern complaint criticism insult compliment suggestion invitation request demand warning prediction
 assumption misconception stereotype contradiction coincidence paradox dilemma illusion temptation sacrifice
 priority value standard belief ideal concept definition metaphor symbol message signal hint clue puzzle
 accident incident event occasion episode phase era decade generation trend movement phenomenon effort attempt
 experiment investment reward penalty bargain masterpiece joke prank tragedy miracle fantasy nightmare
 confession apology tribute legacy inheritance foundation framework system structure machine source origin
 root cause element ingredient feature aspect part piece fragment half hundred checklist formula recipe remedy
 cure weapon tool resource treasure jewel bridge ladder door key mirror window path road map compass anchor
 shield mask cage trap maze storm wave spark flame seed harvest engine circle cycle loop gap limit edge
 boundary threshold detour destination departure arrival farewell reunion alternative option exception
 guarantee privilege right achievement accomplishment reputation performance contribution possibility
 consideration concession controversy anecdote proverb riddle lecture sermon slogan rumor headline footnote
 postscript preface afterthought blunder setback breakthrough revelation epiphany quest crusade campaign
 rebellion revolution bonanza gamble wager shock thrill delight annoyance nuisance hassle hardship ordeal
 grudge feud rivalry alliance friendship partnership bond instinct talent flaw virtue vice quirk whim passion
 obsession hobby pastime commandment oath
stuff: time life love work happiness courage freedom change patience trust hope luck truth peace success faith
 wisdom honesty balance silence respect responsibility kindness progress beauty fear energy power attention
 knowledge advice imagination determination ambition humility generosity integrity confidence discipline
 curiosity compassion loyalty dignity pride joy pain sorrow anger envy jealousy greed ignorance arrogance
 laziness simplicity complexity honor glory fame failure justice equality diversity unity independence
 security stability chaos order logic reason intuition experience nostalgia optimism skepticism cynicism
 enthusiasm inspiration motivation persistence perseverance tolerance mercy gratitude contentment serenity
 clarity confusion doubt certainty uncertainty common-sense hard-work authenticity creativity spontaneity
 consistency flexibility transparency accountability efficiency excellence perfection mediocrity maturity
 innocence wonder mischief nonsense gossip small-talk fun laughter humor sarcasm adversity hardship misery
 despair regret remorse bliss euphoria boredom apathy empathy hatred prejudice hypocrisy guidance support
 encouragement recognition approval permission consent resistance momentum urgency haste solitude company
 privacy shelter nourishment rest leisure convenience temptation seduction obedience rebellion
people: man woman friend child stranger neighbor mother father parent teacher leader expert beginner writer
 reader customer student hero fool genius doctor lawyer artist grandmother grandfather daughter son brother
 sister husband wife boss colleague visitor guest host winner loser dreamer thinker rebel survivor critic
 skeptic believer volunteer mentor adult teenager kid family soldier farmer king queen politician philosopher
 poet comedian scientist professional amateur specialist newcomer veteran giant coward liar cynic idealist
 realist perfectionist traveler foreigner citizen owner employer employee enthusiast villain witness ally
 enemy opponent rival companion grown-up millennial retiree introvert procrastinator know-it-all busybody
doing: change understand love need find learn choose forget remember avoid improve share build create lose
 explain accept embrace question challenge face solve discover protect celebrate handle ignore keep follow
 break fix ruin appreciate admire respect fear hate miss enjoy plan start finish stop support defend describe
 discuss explore imagine measure notice recognize reject resist judge value deserve demand offer promise
 prefer expect survive master practice repeat simplify complicate organize rethink reinvent reconsider
 rediscover redefine restore revive transform maximize minimize multiply overcome overlook underestimate
 overestimate neglect sacrifice abandon tolerate justify confront tackle conquer pursue chase capture seize
 earn steal hide reveal expose inspect examine investigate compare combine balance separate divide adjust
 adapt modify refine polish perfect destroy dismantle undermine exploit exaggerate romanticize glorify mock
 ridicule criticize praise recommend endorse promote honor treasure savor crave anticipate dread postpone
 delay rush abuse misuse waste squander nurture cultivate foster preserve inherit document summarize interpret
 translate unpack decode demystify personalize customize
shape: change shape ruin define improve save transform inspire threaten destroy create cost reveal affect
 influence limit explain complicate strengthen weaken reward punish break heal hurt replace shatter sustain
 fuel drive spoil poison enrich haunt dominate overshadow justify undermine outlive outweigh challenge unite
 divide confuse simplify test expose betray nourish trigger conceal disguise mirror mimic disrupt demand
 deserve invite attract repel amplify diminish accelerate paralyze liberate
help: help teach inspire hire thank trust support surprise hurt forgive convince impress disappoint remind
 comfort follow admire envy warn protect blame encourage annoy bore amuse fool offend challenge reward
 motivate empower confuse frighten intimidate scare delight entertain persuade manipulate mislead betray
 humiliate insult interrupt welcome greet invite ignore avoid pity respect astonish baffle charm irritate
happen: matter change begin end fade grow fail succeed work happen disappear return last improve suffer
 survive emerge arrive die vanish collapse explode spread shrink rise fall heal hurt wait evolve backfire
 flourish blossom mature linger persist crumble unravel thrive stall erupt intensify resurface
act: work fail wait struggle win lose quit dream sleep complain rest laugh cry listen travel worry succeed
 hesitate improvise sacrifice apologize argue disagree compete cooperate surrender retire relax panic smile
 whisper shout gossip wander stumble rebel adapt grow evolve hurry lie cheat prosper thrive rush daydream
 meditate suffer persevere experiment exaggerate reflect procrastinate compromise
think: think believe know feel realize hope suppose understand doubt suspect admit agree imagine guess forget
 pretend remember notice assume discover conclude learn fear wish claim argue insist dream decide predict
say: say claim warn argue insist admit announce report suggest explain reveal promise declare confirm add note
 deny predict state believe complain hint stress estimate boast acknowledge concede remark testify vow assert
want: want need try hope learn refuse plan decide fail choose promise expect deserve struggle manage prefer
 agree wish attempt dare hesitate intend pretend tend vow pledge long strive aspire threaten forget
go_on: stop start keep avoid enjoy love hate consider quit finish risk regret resist remember practice
 postpone recommend imagine miss mind
urge: ask tell help teach force encourage urge allow remind expect persuade invite order warn advise beg
 convince inspire challenge enable motivate forbid pressure compel instruct permit
moody: happy tired brave honest afraid lonely lazy curious ready free lost proud grateful nervous wrong right
 strong weak busy kind calm angry stubborn humble foolish wise patient impatient ambitious generous selfish
 jealous anxious hopeful skeptical optimistic desperate restless fearless reckless careful careless confident
 confused bored disappointed frustrated overwhelmed ashamed guilty innocent rude polite sincere stupid
 brilliant cynical naive ordinary extraordinary unhappy miserable content cheerful gloomy sensitive vulnerable
 invincible unstoppable comfortable uncomfortable available responsible accountable powerless clueless
 speechless gullible insane
rating: good great important difficult simple easy perfect true real hard new old bad best strange rare
 beautiful useful dangerous powerful wonderful terrible common secret small big huge little ordinary painful
 popular serious smart funny unexpected hidden forgotten final honest modern ancient silent endless necessary
 possible impossible certain obvious subtle complex delicate fragile solid practical effective inevitable
 unfortunate remarkable fascinating surprising shocking amazing awesome awful horrible dreadful pathetic
 ridiculous absurd weird bizarre curious mysterious magical sacred precious priceless worthless pointless
 meaningless meaningful significant essential crucial vital critical fundamental basic advanced sophisticated
 elegant clumsy awkward messy chaotic peaceful quiet noisy bold timid gentle harsh cruel brutal tender bitter
 sweet sour bright dark gray cold warm expensive cheap free generous fair unfair equal universal personal
 private public social cultural political spiritual emotional intellectual physical mental invisible visible
 tangible vague precise accurate false fake genuine authentic original typical unusual unique exotic familiar
 foreign distant close recent early late temporary permanent eternal brief long short slow quick sudden
 gradual constant frequent occasional annual daily complicated controversial debatable questionable doubtful
 memorable unforgettable legendary infamous notorious inspiring uplifting depressing tedious dull boring
 exhausting refreshing charming delightful annoying irritating tempting addictive contagious harmless innocent
 wicked evil noble heroic humble modest arrogant pretentious ambitious realistic unrealistic reasonable
 sensible senseless logical irrational profound superficial shallow deep broad narrow radical moderate extreme
 excessive sufficient inadequate adequate incomplete unfinished flawed flawless imperfect impressive
 disastrous catastrophic tragic comic ironic poetic romantic nostalgic sentimental stubborn persistent
 relentless unstoppable irresistible undeniable unbelievable incredible improbable accidental deliberate
 conscious unconscious intentional voluntary reluctant mutual collective lifelong overnight timeless outdated
 old-fashioned contemporary mainstream alternative underrated overrated neglected unspoken silly
degree: very really truly so too quite surprisingly fairly incredibly extremely rather almost completely
 deeply utterly painfully perfectly oddly strangely wonderfully hopelessly ridiculously remarkably brutally
 terribly somewhat particularly equally increasingly seriously genuinely downright insanely suspiciously
 unbelievably
often: never always often rarely sometimes usually finally really still only just hardly barely simply
 eventually secretly actually constantly suddenly slowly quickly occasionally seldom gradually repeatedly
 quietly gladly happily silently stubbornly deliberately accidentally inevitably probably certainly possibly
 apparently allegedly merely nearly mostly partly literally blindly desperately reluctantly willingly proudly
manner: well together alone quickly slowly quietly properly carefully fast early late naturally safely
 effectively cheaply gracefully honestly patiently openly boldly overnight online forever daily abroad
 everywhere somewhere differently successfully efficiently correctly wisely calmly confidently cheerfully
 creatively responsibly gently blindly loudly politely professionally independently permanently backwards
 instantly effortlessly sincerely seriously beautifully simply peacefully aggressively consistently regularly
 deliberately
sadly: sometimes honestly sadly maybe perhaps apparently eventually unfortunately frankly luckily today
 finally ironically obviously thankfully surprisingly ultimately generally clearly indeed naturally hopefully
 secretly traditionally curiously historically admittedly evidently strangely nowadays meanwhile tragically
 supposedly
events: election strike fire flood protest concert festival ceremony conference trial wedding storm crash
 rally hearing vote debate meeting summit exhibition parade match tournament auction explosion earthquake
 drought outbreak blackout robbery burglary raid investigation inquiry dispute boycott march vigil memorial
 funeral reception premiere launch opening closure takeover merger recall shortage hurricane evacuation rescue
 search fundraiser marathon visit tour interview briefing press-conference photo-call workshop competition
 carnival championship election-campaign riot standoff shooting accident collision landslide heatwave blizzard
 lockdown curfew ceasefire negotiation settlement scandal resignation inauguration coronation anniversary
 jubilee commemoration unveiling groundbreaking demonstration
met: arrested injured honored rescued charged evacuated questioned invited awarded appointed elected fined
 dismissed treated killed displaced jailed released suspended hospitalized recruited trained detained stranded
 affected named deported sentenced praised selected nominated promoted photographed
rates: unemployment prices sales rents attendance crime profits wages turnout exports imports spending
 inflation enrollment demand shares revenue tourism donations complaints arrests births marriages bankruptcies
 layoffs fares emissions temperatures rainfall ratings subscriptions bookings accidents applications thefts
moved: rose fell dropped climbed grew declined jumped plunged increased slipped doubled soared tumbled surged
 shrank
chiefs: director chairman president head founder spokesman chief secretary manager owner leader coach editor
 minister professor coordinator treasurer curator principal commissioner superintendent organizer captain
 governor envoy analyst chairwoman spokeswoman lawmaker co-founder economist attorney historian
told: said announced warned claimed explained insisted argued admitted confirmed promised reported stated
 revealed declared suggested complained predicted stressed acknowledged noted denied conceded boasted
 testified hinted
adding: adding insisting arguing claiming warning noting explaining suggesting stressing complaining fearing
 hoping
organs: Institute Foundation Council University Society Museum Bank Ministry Hospital Association Committee
 Union College Academy Agency Federation Department Commission Center Theater Library Club League Trust
 Airport Authority Orchestra Chamber Bureau Observatory Times Herald Gazette Tribune
areas: Education Health Finance Transport Culture Energy Agriculture Science Justice Defense Labor Tourism
 Housing Trade History Music Medicine Technology Sports Wildlife Heritage Consumer Family Veterans Farmers
 Teachers Research Water
press: survey report study poll statement document review memo letter census estimate interview broadcast
 newsletter
when: today tomorrow tonight forever again now someday yesterday sooner later nowadays
spans: day year week month morning night summer weekend evening winter spring season century
times: day week year month morning night evening weekend summer winter century decade lifetime minute moment
 generation season hour second autumn afternoon childhood youth
links: for in about with behind without from between on against before after through beyond
eager: ready able happy afraid willing eager free proud glad determined reluctant quick slow careful desperate
 likely unable lucky keen anxious unwilling ashamed prepared unlikely foolish brave welcome wise crazy
 hesitant content
ease: easy hard good important difficult impossible better possible wonderful dangerous best necessary
 tempting useless fun great wrong right strange smart cheaper safer foolish pointless time-consuming nice
 useful rude painful harder easier wise expensive exciting crucial rare common natural normal legal illegal
 helpful risky selfish healthy sad lovely silly essential acceptable unfair
topics_prep: in for of with about through against from without under before after over during behind
sites: blog journal daily review magazine times weekly guide post forum news digest network academy corner
 living today report tribune herald insider observer gazette tips hub
because: because when if although until unless while since before after once as whenever though whether
"""
