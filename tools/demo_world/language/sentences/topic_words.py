"""Words of the grade-0 captions by topic; within a class the most frequent word first.

The classes: `things` can be counted, `stuff` cannot. `people` and `bodies` (groups, institutions) act. `doing` are
verbs with the things and the stuff as objects, `like` are adjectives for them, `where` are settings.
"""

TOPIC_WORDS = """
= money
things: budget loan salary debt tax mortgage pension investment price bill account bonus raise fee asset
 bargain refund discount receipt invoice deposit penny dollar fortune wage paycheck dividend portfolio
 transaction inheritance expense cost purchase payment estimate windfall stock share bond withdrawal allowance
 ledger loophole surcharge installment
stuff: money wealth credit cash income interest inflation profit equity poverty spending saving insurance
 bankruptcy capital currency greed thrift luxury prosperity revenue liquidity
people: banker investor lender accountant saver landlord debtor broker customer millionaire heir taxpayer
 trader cashier auditor economist miser treasurer shareholder
bodies: bank fund treasury exchange lender insurer firm
doing: save spend invest borrow lend earn budget owe repay waste inherit calculate afford cut lower negotiate
 stretch withdraw transfer collect refinance audit gamble squander deduct double forecast hoard
like: cheap expensive affordable rich poor wealthy generous frugal costly broke taxable lucrative thrifty
 fixed monthly hidden fiscal overdue worthless stingy profitable greedy modest
where: bank market office counter
= work
things: job career meeting deadline interview promotion office shift project task contract resume colleague
 desk email presentation skill application reference vacancy position commute report schedule conference
 workshop mentor internship layoff apprenticeship agenda checklist recruitment payroll workload commission
 qualification resignation
stuff: work productivity leadership teamwork experience overtime burnout feedback ambition motivation training
 unemployment retirement delegation networking competence efficiency
people: boss manager employee freelancer recruiter intern worker applicant leader supervisor assistant
 secretary executive foreman newcomer retiree consultant coworker apprentice nominee
bodies: company team union department agency staff
doing: manage finish delegate schedule accept organize supervise hire negotiate quit prepare plan submit
 recruit assign reschedule update prioritize juggle outsource resume postpone handle coordinate streamline
like: busy professional productive permanent temporary remote overworked ambitious reliable skilled part-time
 efficient senior junior corporate tedious competent bossy punctual unpaid
where: office workplace factory interview
= health
things: diet symptom habit treatment disease injury vaccine pill nap workout headache allergy therapy exercise
 infection diagnosis vitamin muscle joint nerve prescription surgery dose fever remedy supplement cure virus
 checkup migraine scar stroke craving calorie pulse bruise syndrome hormone breath ache cough hospital
stuff: health sleep stress fatigue pain recovery nutrition immunity medicine fitness hygiene obesity digestion
 energy anxiety depression metabolism wellness insomnia addiction inflammation posture hydration aging
people: doctor nurse patient therapist surgeon dentist pharmacist survivor caregiver specialist donor
 paramedic physician dietitian midwife sufferer psychiatrist
bodies: hospital clinic ministry laboratory pharmacy ward
doing: treat cure prevent heal ease diagnose relieve boost reduce fight cope survive monitor examine recover
 vaccinate inject swallow stretch detect prescribe soothe trigger tolerate
like: healthy sick chronic painful natural tired weak medical dizzy harmful mental physical severe allergic
 fatal sleepless infected holistic organic sore contagious numb sedentary
where: hospital clinic gym bath
= food
things: recipe meal breakfast dinner snack dessert sauce kitchen flavor ingredient lunch menu salad soup
 cookie sandwich spice dish taste cake pizza leftover potato appetite buffet onion tomato barbecue picnic
 feast casserole smoothie restaurant oven craving bakery brunch noodle pancake stew herb omelet pastry portion
 bean
stuff: food sugar salt coffee chocolate cheese butter bread garlic pasta rice wine beer tea dough cooking
 baking hunger honey vinegar caffeine gluten protein broth seasoning cuisine
people: chef cook waiter baker guest butcher farmer vegetarian critic grocer eater diner brewer
bodies: restaurant bakery cafe brewery kitchen
doing: cook bake eat taste serve roast season grill chop freeze boil order share skip devour blend simmer peel
 ferment chill savor stir marinate slice
like: delicious fresh sweet spicy salty homemade hungry crispy bitter tasty raw sour creamy vegan bland greasy
 juicy savory stale edible frozen crunchy rotten filling
where: kitchen table restaurant market
= law
things: court law case trial lawsuit verdict crime witness judge jury lawyer appeal charge right clause
 penalty fine sentence statute robbery murder fraud dispute warrant alibi confession claim settlement permit
 patent testament prison investigation accusation hearing precedent violation theft clue suspect allegation
 injunction plea
stuff: justice evidence bail custody guilt innocence testimony punishment compensation liability legislation
 corruption negligence jurisdiction privacy discrimination
people: lawyer judge victim detective prosecutor criminal suspect thief defendant juror officer attorney
 inspector clerk burglar convict accomplice inmate sheriff
bodies: court police tribunal jury commission
doing: sue prosecute investigate convict appeal defend dismiss settle prove deny violate enforce arrest
 overturn accuse uphold testify ban confess interrogate acquit pardon
like: legal guilty innocent illegal criminal fair unjust lawful judicial liable strict civil corrupt binding
 violent suspicious unlawful disputed accused
where: court prison station
= sport
things: game team goal match season race record medal player coach fan league tournament championship title
 victory defeat point penalty referee stadium contest marathon kick serve tackle rivalry score lap trophy
 final jersey sprint knockout comeback locker transfer tie playoff qualifier relay derby warm-up
stuff: sport football soccer tennis golf basketball stamina training practice glory wrestling boxing swimming
 cycling hockey baseball cricket gymnastics rugby skiing doping sportsmanship
people: player coach striker goalkeeper champion fan runner athlete captain rival referee swimmer boxer rookie
 veteran jockey cyclist teammate opponent underdog sprinter quarterback
bodies: club team federation league squad
doing: win lose play beat score train coach defend kick chase defeat tackle practice miss throw catch dominate
 race outrun trade bench celebrate qualify
like: fast strong winning professional unbeaten fit athletic sporty rival unstoppable injured amateur
 competitive agile fierce legendary lean defensive tactical
where: stadium pitch gym finish
= love
things: date relationship marriage wedding kiss partner divorce breakup heart vow promise ring affair crush
 romance anniversary engagement bride proposal secret quarrel husband wife couple hug feeling letter lie
 apology reunion soulmate honeymoon flirtation gift compliment bond
stuff: love trust passion loneliness desire intimacy affection jealousy heartbreak devotion chemistry
 commitment forgiveness tenderness loyalty longing betrayal attraction infatuation romance
people: lover husband wife girlfriend boyfriend bride groom partner widow bachelor ex friend stranger soulmate
 spouse matchmaker
bodies: couple family
doing: love marry kiss forgive trust hug date adore betray miss cherish forget flirt propose comfort embrace
 charm woo seduce apologize reconcile confess
like: romantic lonely single faithful jealous tender passionate married loving heartbroken intimate divorced
 shy affectionate possessive unrequited needy unfaithful charming
where: altar wedding restaurant beach
= school
things: student teacher lesson class exam essay school college grade course degree test lecture textbook
 homework scholarship subject curriculum question answer classroom semester assignment quiz diploma graduate
 campus tutor thesis syllabus seminar freshman principal library grant notebook flashcard detention worksheet
 reading rubric
stuff: education homework knowledge literacy learning math grammar attendance tuition discipline spelling
 geometry algebra vocabulary schooling plagiarism enrollment curiosity
people: teacher student pupil professor principal tutor graduate parent classmate scholar dean librarian
 lecturer freshman dropout sophomore instructor
bodies: school university college faculty district
doing: learn study teach memorize explain pass fail read grade revise cheat graduate skip understand practice
 educate tutor recite enroll assess summarize cram
like: smart academic lazy curious educational gifted literate difficult elementary bright studious private
 public diligent truant ignorant attentive undergraduate
where: classroom library school campus
= software
things: app code website computer update password file bug server user network database download feature
 browser device interface laptop phone headset screen program algorithm backup crash link account script plugin
 keyboard platform click setting glitch virus firewall framework version tutorial repository inbox dashboard
 notification pixel spreadsheet
stuff: software data security technology traffic privacy automation internet bandwidth memory encryption spam
 malware hardware storage programming hosting
people: programmer user hacker developer designer administrator engineer tester gamer coder beginner analyst
bodies: startup vendor developer company
doing: download install update delete code program encrypt debug upload copy crash click reboot automate hack
 test design sync configure migrate compile launch restore upgrade
like: digital online free virtual mobile smart automatic wireless obsolete portable user-friendly buggy secure
 electronic open-source interactive technical compatible cloud
where: internet network screen keyboard
= politics
things: election vote party campaign president government policy speech reform debate minister candidate
 senator treaty border bill referendum poll protest ballot scandal coalition constituency budget revolution
 regime mayor parliament senate petition deficit summit promise majority veto amendment alliance lobby slogan
 strike subsidy sanction mandate
stuff: politics power democracy freedom immigration corruption diplomacy propaganda opposition turnout reform
 austerity unrest migration welfare censorship sovereignty taxation nationalism apathy
people: president voter politician senator minister candidate mayor governor citizen protester diplomat leader
 activist opponent ambassador refugee lobbyist dictator spokesman delegate chancellor
bodies: government parliament council senate party committee ministry opposition cabinet assembly
doing: vote elect govern reject oppose support reform campaign pass debate protest veto abolish negotiate
 ratify impose resign endorse criticize lobby approve nominate repeal condemn
like: political national federal democratic public liberal conservative radical foreign diplomatic corrupt
 popular electoral presidential bipartisan moderate divided controversial unpopular undecided
where: parliament capital rally summit
= travel
things: trip journey flight hotel ticket passport tour visa guide map vacation destination adventure airport
 suitcase island beach cruise road border hostel resort itinerary landmark souvenir village delay backpack
 city coast detour booking voyage layover sunset expedition monument reservation train postcard stopover
stuff: travel tourism luggage jetlag sightseeing hospitality hitchhiking scenery wanderlust culture
 homesickness
people: tourist traveler guide pilot passenger backpacker host explorer visitor local stewardess nomad
 hitchhiker
bodies: airline agency embassy resort
doing: visit explore book pack travel discover leave cross reach cancel wander board roam photograph arrive
 rent tour hike miss navigate escape
like: foreign exotic remote tropical scenic distant touristy adventurous crowded overseas coastal
 unforgettable unknown sunny breathtaking nomadic hidden overrated cultural
where: airport beach mountains city coast
= faith
things: prayer church god blessing sin miracle soul angel saint temple sermon ritual bible prophet verse psalm
 hymn pastor belief sacrifice vow pilgrimage heaven parable commandment altar shrine doubt monastery ceremony
 choir creed covenant resurrection testimony funeral disciple
stuff: faith grace mercy salvation religion worship holiness temptation eternity meditation scripture humility
 theology devotion repentance wisdom forgiveness fasting superstition redemption
people: believer priest pastor monk preacher bishop nun sinner saint prophet pilgrim missionary atheist
 skeptic disciple shepherd rabbi theologian
bodies: church congregation parish ministry temple
doing: pray believe worship forgive preach bless doubt praise follow confess trust sacrifice obey baptize seek
 convert renounce surrender sing fast
like: holy spiritual sacred divine faithful religious humble blessed eternal righteous merciful sinful devout
 heavenly pious mystical unworthy biblical
where: church temple wilderness chapel
= craft
things: pattern project quilt stitch knot hobby needle tool scarf button thread blanket glue workshop basket
 ribbon bead sketch template frame kit design ornament sweater card doll pot bracelet seam hem fold wreath
 cushion stencil scrapbook gift carving mitten birdhouse
stuff: yarn wool paper wood clay paint cloth cotton leather embroidery knitting crochet pottery felt lace
 sewing woodwork glitter patience origami
people: knitter carpenter potter crafter tailor hobbyist beginner weaver designer seamstress artisan
bodies: guild workshop club
doing: knit sew carve paint glue make fold weave stitch cut decorate crochet recycle build mend trace quilt
 assemble embroider sand dye repair
like: handmade crafty woolen simple homemade decorative colorful quick wooden neat reversible crooked leftover
 seasonal intricate rustic quilted
where: workshop attic table market
= gardening
things: garden plant seed tree flower weed lawn rose vegetable root leaf herb hedge shrub bulb pot greenhouse
 bed orchard harvest tomato pest insect branch fence compost vine bee worm season spade slug pond bloom
 cutting petal blossom fern trellis perennial
stuff: soil grass rain mulch compost sunlight shade fertilizer moss frost pruning drought growth pollen
 foliage
people: gardener farmer botanist neighbor florist landscaper beekeeper
bodies: nursery garden society
doing: plant grow water prune weed dig harvest mow sow fertilize trim pick protect replant rake shade
 transplant uproot
like: green wild organic leafy sunny shady dry fertile overgrown blooming hardy native evergreen edible
 invasive barren seasonal potted
where: garden greenhouse balcony yard
= parenting
things: child baby toddler kid teenager parent bedtime tantrum toy diaper crib rule chore family nursery birth
 lullaby bottle mother father playground stroller sibling bump routine reward birthday sleepover preschool
 babysitter grandparent pacifier storybook milestone due-date
stuff: parenting childhood pregnancy discipline bedtime adoption puberty patience motherhood obedience
 mischief laughter
people: parent mother father baby toddler daughter son grandmother babysitter teenager nanny sibling aunt
 grandfather stepmother uncle infant twin
bodies: family household nursery
doing: raise feed teach hold punish comfort bathe praise spoil nurture scold dress protect wean discipline
 babysit tickle adopt cuddle reassure
like: young little naughty sleepy playful newborn spoiled fussy stubborn cute innocent sensitive pregnant
 maternal disobedient cranky bedtime overprotective
where: nursery playground home bed
= art
things: painting artist picture museum gallery portrait masterpiece exhibition sculpture sketch canvas statue
 drawing style landscape brush collection poster mural color painter shape photograph critic shadow contour
 perspective frame studio collage print motif retrospective easel genre illustration
stuff: art beauty creativity light imagination design inspiration symmetry sculpture photography originality
 contrast realism texture architecture abstraction
people: artist painter sculptor critic collector photographer curator muse genius illustrator amateur dealer
bodies: museum gallery academy foundation
doing: paint draw create admire sketch exhibit sculpt collect imitate depict photograph display imagine
 illustrate shape capture interpret restore
like: beautiful abstract modern creative classical visual artistic famous original colorful ugly expressive
 surreal vivid contemporary elegant bold minimalist
where: museum gallery studio
= science
things: study theory experiment discovery planet scientist cell gene fact telescope brain species atom
 laboratory hypothesis galaxy particle sample law satellite result measurement molecule fossil orbit protein
 mutation formula star method comet organism breakthrough equation microscope paradox dinosaur asteroid
 crystal instrument bacterium survey
stuff: science research evidence gravity energy evolution physics biology chemistry matter oxygen radiation
 genetics light astronomy uncertainty electricity knowledge entropy magnetism
people: scientist researcher astronomer physicist biologist chemist inventor astronaut professor geologist
 volunteer mathematician engineer naturalist
bodies: institute laboratory university observatory society
doing: discover measure observe test prove explain predict analyze invent study publish calculate investigate
 simulate dissect verify replicate refute classify
like: scientific empirical new natural genetic theoretical experimental nuclear chemical microscopic lunar
 precise extinct unexplained quantum biological accurate
where: laboratory universe space field
= music
things: song band album concert guitar singer melody tune lyric piano drum stage festival note voice record
 tour orchestra beat playlist audition violin chord duet choir encore anthem musician soundtrack rehearsal
 symphony hit microphone composer opera ballad lullaby rhyme trumpet remix
stuff: music rhythm jazz harmony silence applause noise tempo vinyl karaoke acoustics improvisation
people: singer musician drummer fan composer guitarist pianist conductor audience songwriter producer
 violinist listener soloist
bodies: band orchestra choir label
doing: play sing hear record perform compose rehearse tune dance listen improvise conduct release strum
 whistle hum remix
like: musical loud catchy live melodic classical acoustic soulful noisy off-key upbeat melancholy gentle
 rhythmic deafening harmonious
where: stage studio concert radio
= writing
things: book story novel poem writer author page chapter character sentence word plot reader letter ending
 journal draft title blog editor publisher paragraph quote diary manuscript library essay memoir narrator
 scene bestseller critic typo deadline metaphor fable anthology rejection fairytale riddle limerick villain
 hero trilogy
stuff: writing poetry fiction reading literature language dialogue suspense imagination grammar prose
 punctuation translation irony
people: writer author poet editor reader novelist publisher storyteller narrator librarian journalist
 translator bookworm
bodies: publisher library press academy
doing: write read edit publish finish rewrite translate draft quote describe invent review narrate outline
 revise plagiarize borrow scribble
like: literary fictional poetic unfinished best-selling romantic gripping wordy unforgettable readable tragic
 forgotten anonymous witty lyrical
where: library desk bookshop page
= home
things: house room kitchen bathroom bed sofa closet wall window door roof shelf lamp curtain carpet ceiling
 basement attic drawer mattress neighbor apartment key leak renovation garage porch fireplace rug mirror floor
 tile pillow cabinet chimney hallway towel plumber staircase toilet faucet
stuff: furniture clutter dust decor plumbing laundry rent housework mold lighting insulation wallpaper comfort
 storage heating paint cleaning
people: homeowner tenant landlord roommate plumber neighbor decorator electrician housewife guest cleaner
 builder
bodies: household agency contractor
doing: clean decorate paint rent organize move fix renovate build sweep declutter heat insulate repair vacuum
 scrub remodel furnish tidy install
like: cozy clean messy tidy spacious cluttered dusty cramped comfortable drafty furnished damp domestic tiny
 empty rustic stylish stained
where: kitchen bathroom basement garage bedroom
= fashion
things: dress shoe style outfit trend jacket shirt bag skirt wardrobe suit coat label collection designer heel
 boot accessory model necklace sweater runway tattoo haircut wig sandal belt earring lipstick closet look
 bikini uniform hairstyle gown blouse stylist
stuff: fashion makeup jewelry denim silk hair perfume beauty glamour vanity skin clothing elegance nail
people: model designer stylist shopper tailor hairdresser celebrity influencer bride trendsetter
bodies: brand boutique magazine label
doing: wear buy dress style design shop match tailor try flaunt iron combine accessorize launch borrow shorten
like: fashionable stylish elegant trendy chic casual vintage sexy outdated glamorous fancy sleek tight sporty
 flattering timeless tacky oversized
where: boutique runway mirror mall
= history
things: war battle king queen empire soldier weapon aqueduct century army revolution treaty ruin dynasty legend
 hero invasion siege kingdom knight monument tribe throne archive civilization grave artifact veteran massacre
 conquest tomb colony rebellion era campaign uniform ancestor rampart bomb myth victory
stuff: history peace slavery glory heritage archaeology courage heroism victory tyranny honor exile conquest
people: soldier king historian general knight emperor warrior slave peasant hero archaeologist veteran rebel
 princess prisoner pharaoh
bodies: army empire museum monarchy
doing: conquer defend remember rule destroy invade rebuild betray liberate fight bury surrender commemorate
 crown excavate colonize preserve chronicle
like: ancient historic medieval royal heroic imperial military forgotten brutal noble bloody colonial
 legendary victorious tribal primitive
where: battlefield palace museum empire
= nature
things: river forest mountain animal bird storm ocean climate species flood lake wolf bear island volcano fire
 wave season habitat earthquake hurricane walrus shark desert reef glacier park horse wilderness elephant tiger
 dam forecast swamp landslide predator nest canyon waterfall drizzle valley
stuff: nature pollution weather water wildlife energy drought waste snow warming recycling conservation
 plastic erosion wind wilderness extinction deforestation coal thunder
people: ranger farmer hunter fisherman environmentalist hiker campaigner villager conservationist diver
 forester lumberjack
bodies: agency park zoo council
doing: protect save pollute recycle preserve observe destroy restore hunt burn flood conserve rescue endanger
 reclaim cool feed
like: natural wild rare endangered green renewable dangerous toxic polluted tropical arctic frozen rural
 stormy sustainable extinct volcanic polar
where: forest river desert mountains sea
= business
things: company customer brand product market sale strategy business client deal startup store campaign budget
 logo website service competitor launch owner partnership slogan warranty factory supplier franchise
 advertisement target takeover niche survey brochure coupon merger headquarters trademark pitch entrepreneur
 audience warehouse newsletter billboard
stuff: marketing advertising trade growth competition quality demand management innovation commerce branding
 merchandise loyalty publicity outsourcing manufacturing logistics retail
people: entrepreneur customer owner manager founder client salesman director supplier marketer executive
 retailer competitor consumer shopkeeper wholesaler
bodies: company brand firm retailer chain agency startup corporation
doing: sell buy launch promote market grow advertise manage negotiate build expand deliver rebrand distribute
 acquire boost manufacture export import franchise
like: commercial successful global competitive innovative local profitable small exclusive premium bankrupt
 loyal reputable family-owned wholesale industrial
where: market store factory boardroom
= mind
things: habit emotion thought fear memory mistake goal decision dream mood choice doubt personality instinct
 regret obsession excuse illusion trigger weakness belief distraction worry temper attitude limit impulse
 setback trauma boundary insecurity strength perception bias phobia motive fantasy nightmare flaw reflex
stuff: happiness confidence anger motivation willpower anxiety grief self-esteem mindfulness shame gratitude
 focus empathy resilience boredom procrastination sadness guilt optimism perfectionism intuition denial
people: psychologist optimist introvert dreamer perfectionist narcissist stranger therapist pessimist
 extrovert genius loner daydreamer
bodies: brain mind
doing: overcome control face forget remember change conquer calm ignore express break accept suppress
 visualize confront imagine heal embrace acknowledge outgrow analyze
like: happy anxious calm positive emotional negative toxic irrational mindful insecure fearless rational
 depressed stubborn optimistic impulsive resilient subconscious
where: mirror mind moment
= media
things: movie show film episode series actor trailer scene channel review interview camera character director
 star documentary magazine newspaper headline rumor podcast video audience sequel comedy cartoon script
 theater photo article role celebrity broadcast finale villain spoiler award drama premiere subscription
 screenplay genre remake broadcaster
stuff: television news fame gossip publicity journalism horror comedy suspense acting animation media
 entertainment criticism nostalgia
people: actor actress director celebrity journalist reporter comedian host viewer presenter producer blogger
 star critic photographer stuntman
bodies: studio network channel newspaper magazine
doing: watch film broadcast direct review produce publish act record stream report cast edit cancel rehearse
 leak subtitle
like: famous funny dramatic boring live scary hilarious independent viral animated entertaining fake
 disappointing sentimental unscripted blockbuster
where: cinema theater screen studio set
= transport
things: car road engine driver train truck bus bike accident wheel brake bridge ticket route tunnel tire lane
 license parking seat motorcycle highway station garage battery ferry junction mechanic helmet van crossing
 pedestrian bumper intersection railway speed-limit dashboard subway
stuff: traffic fuel gas speed driving congestion transport maintenance oil horsepower mileage parking
people: driver mechanic commuter passenger cyclist pedestrian trucker motorist conductor biker
bodies: railway airline dealership garage
doing: drive park repair fix steer ride brake overtake refuel tow restore inspect crash rent test
like: fast electric safe hybrid reckless used slow crowded rusty reliable automatic elevated vintage diesel
 faulty congested
where: road garage highway station
= community
things: neighbor volunteer charity town village event street festival shelter project donation meeting
 tradition parade fundraiser library park school committee hero neighborhood cause celebration fair ceremony
 anniversary initiative protest landmark reunion auction crisis fire rescue memorial banquet orphanage
stuff: charity kindness housing safety support diversity poverty homelessness hospitality solidarity equality
 vandalism
people: volunteer resident neighbor organizer activist firefighter donor teenager elder stranger citizen mayor
 newcomer villager pensioner scout
bodies: charity council community foundation committee society association
doing: help support organize donate build celebrate volunteer rescue share welcome attend fund honor evacuate
 gather sponsor host
like: local homeless annual public generous grateful neighborly charitable disabled elderly safe friendly
 inclusive proud voluntary civic
where: town village street church
= games
things: game player level character puzzle card board toy quest trick dice score boss console monster strategy
 cheat chateau dragon weapon pawn rule spell quiz hint riddle joystick maze opponent zombie wizard sword
 dungeon trophy jackpot avatar
stuff: luck strategy fun skill poker gambling magic chess suspense bluffing teamwork
people: gamer player beginner champion opponent winner loser wizard villain magician gambler cheater
bodies: studio team guild
doing: play win unlock solve beat collect defeat explore cheat shuffle bluff guess level download lose hide
like: addictive challenging fun tricky competitive impossible magical epic hidden unfair lucky playable
 nostalgic multiplayer
where: arcade casino board
= pets
things: dog cat leash collar puppy kitten cage paw tail bone toy breed vet aquarium parrot hamster whisker
 bark flea litter kennel rabbit goldfish treat adoption groomer feeder tick claw scratch purr pony lizard
 canary ferret guinea-pig muzzle
stuff: loyalty fur companionship barking obedience grooming kibble catnip shedding slobber training affection
 dander
people: owner breeder vet groomer walker trainer rescuer veterinarian sitter
bodies: shelter kennel clinic society
doing: feed walk groom adopt train pet brush rescue neuter cuddle bathe leash scratch spay tame breed
like: furry playful loyal stray obedient aggressive fluffy house-trained purebred feral domesticated lazy
 cuddly shaggy mischievous frisky
where: park kennel yard couch
= philosophy
things: question paradox meaning argument soul principle virtue concept doctrine self illusion ethic dialogue
 premise truth maxim dilemma theory essence axiom fallacy treatise conscience worldview absolute ideal
 syllogism contradiction
stuff: existence reality morality consciousness free-will logic metaphysics being nothingness reason ethics
 skepticism fate causality mortality rationality nihilism stoicism duality subjectivity
people: philosopher thinker stoic skeptic cynic sage student moralist pragmatist nihilist humanist
bodies: academy school society
doing: ponder question contemplate refute assert reason define transcend interpret negate presuppose deduce
 postulate reconcile examine
like: existential moral ethical rational metaphysical absolute paradoxical relative finite infinite skeptical
 dogmatic transcendent stoic abstract virtuous
where: mind cave academy
= language
things: word accent dialect sentence verb phrase idiom alphabet dictionary noun vowel proverb translation
 syllable meaning conversation adjective pun pronoun joke clause letter mistake insult compliment
 tongue-twister nickname synonym preposition consonant prefix acronym speech
stuff: language grammar pronunciation slang vocabulary fluency spelling jargon syntax etymology small-talk
 punctuation eloquence rhetoric bilingualism
people: linguist translator speaker interpreter learner polyglot native lexicographer orator
bodies: academy school institute
doing: speak pronounce translate spell learn misspell say repeat mispronounce interpret whisper define shout
 phrase paraphrase utter
like: fluent bilingual native foreign grammatical verbal spoken written silent plural idiomatic obscene
 colloquial ambiguous wordless eloquent
where: dictionary classroom embassy
= beauty
things: wrinkle lotion cream face mask brush shampoo lip eyebrow mirror hairstyle pore eyelash facial soap
 curl scent tan manicure salon razor comb cleanser serum blemish pimple freckle ponytail massage spa fragrance
 moisturizer
stuff: skincare makeup mascara hair skin lipstick acne sunscreen foundation dandruff exfoliation collagen
 blush aging dryness glow volume
people: hairdresser barber stylist makeup-artist dermatologist client beautician
bodies: salon spa brand
doing: moisturize wash brush curl shave exfoliate dye straighten trim pluck bleach cleanse braid rinse wax
 pamper soften
like: smooth oily radiant glossy dry soft frizzy wavy flawless youthful wrinkled bald luscious hairy greasy
 dull pimply tanned
where: salon mirror shower spa
= farming
things: farm crop field tractor cow barn harvest chicken egg sheep pig goat fence horse hay-bale silo orchard
 pasture calf stable turkey ranch herd market lamb plow rooster seedling vineyard shepherd combine feeder acre
 donkey beehive udder
stuff: livestock wheat corn milk hay manure irrigation cattle dairy barley wool drought soil grain straw
 fodder agriculture feed cotton pesticide
people: farmer rancher shepherd cowboy milkmaid farmhand buyer peasant grower
bodies: farm cooperative ranch dairy
doing: milk plow harvest feed shear graze plant breed irrigate slaughter herd fence raise sell hatch fatten
like: rural fertile agricultural free-range organic muddy seasonal hardy drought-resistant grassy arable
 barren ripe pastoral
where: barn field pasture village
= sea
things: ship wave harbor sailor anchor lighthouse boat reef tide captain wreck sail shore fisherman net
 dolphin shell port deck canoe current lagoon pirate dock voyage surfboard yacht buoy oar jellyfish hull pier
 cliff lobster crew mast submarine island rudder seagull
stuff: water seaweed sand salt fishing sailing surfing seasickness fog coral cargo driftwood navigation spray
 bait
people: sailor captain pirate fisherman diver surfer lifeguard admiral castaway swimmer mariner
bodies: navy crew port coast-guard
doing: sail navigate catch sink anchor row surf drift explore dive salvage steer chart ship float board
like: deep salty coastal stormy marine nautical calm sandy shallow blue tidal naval adrift seasick watery
 treacherous
where: harbor sea beach deck
= aging
things: birthday grandchild wrinkle memory pension retirement will grandparent year cane milestone regret
 funeral checkup reunion hobby photograph album photo nap century legacy nursing-home routine anniversary fall
 walker
stuff: aging wisdom dementia nostalgia loneliness longevity retirement mobility experience frailty
 independence forgetfulness dignity arthritis
people: grandmother grandfather retiree senior caregiver widow elder pensioner centenarian granddaughter
bodies: family clinic generation
doing: remember retire forget celebrate mourn outlive reminisce inherit recall cherish nurse treasure
 commemorate bury
like: old elderly retired wise forgetful frail ageless youthful gray nostalgic widowed immortal senile
 sprightly middle-aged
where: attic porch garden hospital
= engineering
things: bridge machine engine tower battery motor circuit dam pump cockpit sensor blueprint valve prototype gear
 pipe crane turbine reactor wire skyscraper lever elevator rocket drill generator tunnel cable beam bolt
 switch antenna weld piston magnet lens hinge spring conveyor transistor
stuff: engineering steel concrete electricity voltage friction automation pressure iron copper plumbing torque
 hydraulics wiring rust aluminum maintenance horsepower
people: engineer inventor mechanic architect welder technician builder machinist surveyor electrician operator
bodies: firm factory laboratory plant
doing: build design weld assemble test drill install measure repair invent lift dismantle calibrate reinforce
 solder construct insulate lubricate
like: mechanical electric structural automatic hydraulic sturdy rusty efficient industrial defective
 waterproof rigid metallic modular high-voltage durable
where: factory workshop laboratory site
= friendship
things: friend secret party promise joke conversation memory neighbor letter quarrel favor gift invitation hug
 nickname call visit gathering chat picnic sleepover reunion misunderstanding group prank toast handshake
 grudge rumor anecdote
stuff: friendship loyalty trust laughter gossip honesty company kindness support rivalry companionship
 jealousy closeness banter camaraderie teasing
people: friend buddy classmate neighbor roommate stranger pal acquaintance confidant companion
bodies: club circle group
doing: trust invite tease forgive betray help miss visit call thank host share forget introduce greet befriend
 ignore
like: loyal best trustworthy fake close old true mutual supportive gossipy talkative sociable estranged
 dependable inseparable childhood
where: party bar street kitchen
= sleep
things: dream nightmare pillow bed blanket alarm nap bedtime mattress lullaby yawn hour snore sheet ritual
 night-light pajama routine bunk hammock sleepwalker cradle
stuff: sleep insomnia darkness rest snoring drowsiness moonlight melatonin silence dreaming jetlag quiet
 exhaustion
people: sleeper dreamer insomniac sleepwalker night-owl doctor early-riser
bodies: clinic laboratory
doing: dream sleep wake rest yawn doze snooze interpret interrupt skip recall calm
like: sleepless drowsy restless sleepy nocturnal sound awake groggy cozy dreamy hypnotic tired
where: bedroom bed dark
"""
