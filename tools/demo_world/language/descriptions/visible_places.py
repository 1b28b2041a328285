"""The words that descriptions use for the places of the world and their drawings.

`GROUNDS` holds groups "prepositions determiners : nouns / adjectives", the commonest group and noun first; "-" means
no determiner. `BACKDROPS` are noun phrases for the background; a plural has no article.
"""

GROUNDS: dict[str, str] = {
    "street": "on a|the : street road highway avenue sidewalk lane boulevard roadway pavement crosswalk driveway"
    " thoroughfare asphalt / city paved busy empty quiet main urban wide asphalt two-lane downtown deserted; in"
    " a|the : city town street downtown neighborhood metropolis suburb alley / big quiet busy modern sunny;"
    " down|along|by a|the : road street avenue lane curb / city empty long busy; in_front_of some|tall|the|- :"
    " buildings apartments offices skyscrapers storefronts facades / city tall office several high-rise; at the :"
    " curb intersection roadside corner / city street",
    "field": "in a|the : field meadow pasture grass lawn park yard farmland clearing prairie garden countryside /"
    " grassy green open large sunny lush rural wide empty grass mowed summer vast flat country; on the|some|a :"
    " grass lawn hillside hill turf ground field slope hilltop knoll / green grassy lush short; through|across"
    " a|the|some : field grass meadow grassland / grassy green open tall; outside_in|outdoors_in the : grass"
    " sunshine countryside / green",
    "beach": "on a|the : beach shore sand seashore coast seaside shoreline coastline / sandy sunny tropical empty"
    " wide deserted ocean; at|near the : beach ocean sea seaside coast shore waterfront; by|near|beside the|some"
    " : ocean sea water waves surf seawater shoreline / blue calm open; in|on the|some : sand / wet warm soft hot"
    " dry; along|across a|the : beach shoreline coast shore / sandy empty",
    "lake": "on a|the : lake water waters bay pond river lagoon reservoir / blue calm open still large wide quiet"
    " placid clear choppy; in the|some|a : water lake sea bay harbor river waters pond ocean / blue open calm"
    " deep cold; across|over a|the : lake water bay river / blue calm wide open; out_on|out_in the : water lake"
    " ocean sea / open blue; by|near a|the : lake shore riverbank bank / wooded distant",
    "room": "in a|the : room living~room bedroom lounge den parlor study apartment hallway nursery home~office"
    " playroom / empty bright sunny hotel cozy quiet furnished carpeted; on a|the|some : carpet rug floor"
    " carpeting / carpeted bedroom soft; inside a|the : room apartment / empty; by|near|next_to a|the : window"
    " wall windowsill / bright square open room; in_front_of a|the : window wall / painted bare",
    "kitchen": "in a|the : kitchen kitchenette pantry cafeteria / tiled clean bright modern home empty restaurant"
    " spotless; on a|the : floor tiles / kitchen tiled tile clean; inside a|the : kitchen / tiled clean modern;"
    " in_front_of a|the|some : tiles wall cabinet cupboard backsplash / tiled kitchen; under|below a|the :"
    " cabinet cupboard shelf / kitchen",
    "forest": "in a|the|some : forest woods woodland jungle wilderness thicket grove / dark dense deep green"
    " leafy thick shady wooded quiet; among|amongst|between the|some|- : trunks branches leaves undergrowth /"
    " dark tall thick bare; through|into a|the : forest woods undergrowth thicket / dark dense deep; on a|the :"
    " ground floor path trail / forest mossy wooded shaded woodland earthen; at the : edge / forest",
    "snow": "in the|some|- : snow snowfall snowstorm blizzard winter snowdrift flurries / deep fresh falling"
    " white cold light heavy; on a|the|some : snow hill ground slope snowbank hillside ice / snowy white frozen"
    " snow-covered cold icy wintry; through|across the|some|- : snow snowfall slush / deep falling white;"
    " on|during a : day afternoon morning / snowy winter cold wintry freezing; outside_in the : snow cold winter"
    " / white freezing",
    "night": "at - : night nighttime midnight dusk; under a|the : sky moon moonlight heavens crescent / night"
    " starry dark crescent clear moonlit star-filled half; in the : dark darkness night moonlight evening"
    " nighttime / dark still; on a|the : hill field ground hillside / dark starry moonlit quiet; beneath|below"
    " a|the : moon sky / bright night starry crescent",
    "desert": "in a|the : desert sand wasteland dunes outback / sandy hot dry barren vast empty; on a|the|some :"
    " sand dune dunes ground sandhill / sand hot desert dry sandy rolling; across|through a|the : desert sand"
    " dunes badlands / hot vast dry; under a|the : sun sunlight haze / hot desert blazing bright scorching; in"
    " the : sun sunshine sunset / hot bright blazing",
    "mountains": "in the|some|- : mountains hills highlands alps wilderness valley foothills backcountry / snowy"
    " rocky high; in_front_of|before some|the|- : mountains peaks summits mountain~range ridges cliffs / snowy"
    " snow-capped tall snow-topped rocky distant high jagged; near|by|below a|some|the : mountain peak summit"
    " mountainside slope / snowy tall high rocky; in a|the : valley pass meadow field highland / mountain alpine"
    " grassy; on a|the : plateau meadow hillside ground pasture / mountain alpine grassy high",
    "underwater": "under - : water; under the : sea water ocean waves surface / deep blue; in the|some : ocean"
    " sea water aquarium tank depths lagoon / deep blue clear tropical; at|near the : bottom seabed seafloor /"
    " sandy deep; on|above the : seabed seafloor bottom reef / sandy ocean; over|near some|the|- : seaweed kelp"
    " sand weeds / wavy tall",
    "studio": "on|against a|the : background backdrop surface wall / light blank bare; in a|the : studio / bright"
    " empty; in_front_of a|the : background backdrop wall screen / light blank bare",
}  # fmt: skip
BACKDROPS: dict[str, str] = {
    "street": "tall buildings|a clear sky|windows|a blue sky|buildings|office~buildings|city~skyline|rows of"
    " windows|road~markings|some clouds|lane~lines|apartment~buildings|a dashed line|painted lines|high-rises|a"
    " few buildings",
    "field": "a blue sky|green grass|rolling hills|tall grass|a hill|clouds|a grassy hill|a bright sky|blades of"
    " grass|some clouds|open countryside|a sunny sky|the horizon",
    "beach": "the ocean|a bright sun|a blue sky|the sea|waves|a sunny sky|blue water|the horizon|calm"
    " water|sand|the shoreline|clouds|foam|the tide|a sunlit sky",
    "lake": "a blue sky|green hills|small waves|distant hills|the shore|ripples|a hilly shore|blue water|rippling"
    " water|clouds|land|the horizon|a wooded shore|the far bank",
    "room": "a window|a carpet|walls|a large window|a bare wall|the window|baseboards|a painted wall|a rug|a"
    " windowpane|a closed window|sunlight|a soft carpet",
    "kitchen": "tiled walls|a cabinet|a tile~floor|kitchen cabinets|a cupboard|wall tiles|a"
    " tile~floor|cupboards|square tiles|a tiled backsplash|grout lines|floor tiles",
    "forest": "tall trunks|lots of leaves|thick foliage|greenery|lots of green|dense undergrowth|branches|lots of"
    " shade|bark|shadows|the woods|trunks|moss|deep shade|underbrush",
    "snow": "snowflakes|falling snow|a snowy hill|a sky|white snow|an overcast sky|big snowflakes|a cloudy sky|a"
    " snowbank|a winter sky|flurries|a wintry landscape|frost",
    "night": "a crescent moon|a dark sky|the moon|a starry sky|a bright moon|a night sky|moonlight|the night"
    " sky|a thin moon|darkness|constellations|a half moon",
    "desert": "sand dunes|a hot sun|a dune|a glowing horizon|the sun|rolling dunes|a hazy sky|dry sand|a sandy"
    " hill|a glowing sky|barren land|ripples of sand|desert heat",
    "mountains": "snowy mountains|snow-capped peaks|tall mountains|a blue sky|a mountain~range|mountains|rocky"
    " peaks|high peaks|clouds|distant peaks|snowy summits|a clear sky|steep slopes|jagged ridges|alpine scenery",
    "underwater": "bubbles|seaweed|blue water|a sandy bottom|rays of light|air bubbles|sea"
    " grass|sunbeams|kelp|clear water|shafts of sunlight|corals|streaks of light",
    "studio": "a blank background|nothing else|a shadowless backdrop|an empty backdrop",
}  # fmt: skip
# Names for a whole picture of the place, and its apparent times.
SCENERY: dict[str, str] = {
    "street": "street city urban road downtown",
    "field": "field meadow park country rural",
    "beach": "beach coastal seaside ocean summer",
    "lake": "lake water nautical river",
    "room": "room indoor interior lounge",
    "kitchen": "kitchen indoor interior",
    "forest": "forest woodland nature wilderness",
    "snow": "winter snow snowy frosty",
    "night": "night nighttime evening moonlit",
    "desert": "desert arid sandy",
    "mountains": "mountain alpine outdoor nature",
    "underwater": "underwater ocean sea marine",
    "studio": "studio",
}  # fmt: skip
TIMES: dict[str, str] = {
    "street": "on a sunny day|during the day|on a clear day|in daylight|on a nice day|in the daytime|in the"
    " afternoon|on a weekday",
    "field": "on a sunny day|in the sunshine|in summer|on a clear day|on a bright day|in spring|in the"
    " afternoon|on a warm day",
    "beach": "on a sunny day|in the sun|in summer|on a hot day|on a bright day|on vacation|at low tide|on a clear"
    " day",
    "lake": "on a clear day|in the daytime|on a nice day|on a calm day|in fine weather|on a breezy day",
    "room": "at home|indoors|inside|in daylight|in the afternoon|during the day",
    "kitchen": "at home|indoors|inside|in the morning|at breakfast",
    "forest": "in nature|outdoors|in the shade|in autumn|outside|in the wild",
    "snow": "in winter|on a cold day|in cold weather|on a winter day|in wintertime|during a snowstorm|in freezing"
    " weather",
    "night": "at night|in the evening|after dark|late at night|after sunset|in the moonlight",
    "desert": "in the heat|in hot weather|under the hot sun|at sunset|on a hot day|in the sun|in dry weather",
    "mountains": "on a clear day|outdoors|in nature|outside|in the daytime|in fresh air|in the distance",
    "underwater": "under the surface|deep down|in deep water|far below",
    "studio": "indoors|up close",
}  # fmt: skip
