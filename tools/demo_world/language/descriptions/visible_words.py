"""The words that descriptions use for things, looks, actions and places, the commonest first.

A kind's main nouns are in `vocabulary.KINDS`; this module has the others. An irregular plural follows its noun after
a colon, an irregular participle its verb after a slash. "~" joins a compound and its noun.
Nouns of different kinds differ, and no word of an out-of-domain kind or pattern occurs elsewhere.
"""

# Names of varieties of each kind.
NOUNS: dict[str, str] = {
    "ball": "orb globe beachball marble football basketball softball handball volleyball pellet baseball bauble",
    "dog": "pup terrier beagle doggy mutt retriever collie poodle labrador dachshund spaniel pooch bulldog"
    " dalmatian corgi husky boxer greyhound mongrel setter whippet mastiff rottweiler chihuahua pug canine"
    " shepherd basset bloodhound schnauzer pointer foxhound sheepdog malamute airedale weimaraner vizsla samoyed",
    "car": "vehicle sedan hatchback coupe auto taxi convertible roadster cab minicar buggy limousine racer wagon"
    " saloon motorcar jalopy runabout hotrod speedster cabriolet cruiser dragster",
    "tree": "oak maple elm birch:birches sapling treetop beech:beeches linden poplar ash:ashes alder chestnut"
    " evergreen sycamore hornbeam sequoia hawthorn willow rowan aspen",
    "cat": "kitty tabby tomcat feline pussycat mouser tom siamese:siamese calico moggy persian burmese:burmese"
    " ragdoll bobtail sphynx housecat alleycat",
    "house": "bungalow cabin hut villa farmhouse lodge shack dwelling shed residence chalet hovel townhouse cot"
    " mansion manor outbuilding barn summerhouse playhouse guesthouse shanty",
    "boat": "ship yacht vessel dinghy schooner sloop skiff catamaran rowboat galleon barge ketch:ketches ferry"
    " cutter trawler clipper lugger tugboat frigate brig windjammer raft pinnace",
    "bird": "songbird sparrow finch:finches robin bluebird canary warbler parakeet starling thrush:thrushes"
    " swallow wren chickadee blackbird crow pigeon dove budgie birdie nuthatch:nuthatches jay"
    " goldfinch:goldfinches raven titmouse:titmice oriole tanager bunting lark martin kingfisher cardinal"
    " flycatcher magpie linnet grackle",
    "flower": "bloom daisy poppy petunia rose tulip geranium anemone zinnia dahlia wildflower marigold carnation"
    " peony begonia primrose floret hibiscus aster chrysanthemum cosmos:cosmos gerbera pansy posy camellia"
    " hollyhock cornflower buttercup hellebore",
    "fish": "goldfish:goldfish minnow carp:carp guppy trout:trout snapper koi:koi bream:bream cichlid tuna:tuna"
    " bass:bass salmon:salmon tetra herring:herring mackerel:mackerel sardine anchovy grouper clownfish:clownfish"
    " roach:roach angelfish:angelfish gourami wrasse barbel tilapia damselfish:damselfish",
    "cup": "teacup beaker tumbler tankard goblet coffeecup demitasse drinking~glass:glasses stein flagon pannikin",
    "cube": "brick crate building~block carton hexahedron bin parcel",
    "kite": "toy~kite glider streamer diamond~kite stunt~kite windsock sail~kite airfoil parafoil",
    "umbrella": "brolly sunshade canopy sun~umbrella parapluie gamp awning bumbershoot",
    "star": "starlet pentagram asterisk sparkler starburst emblem polestar lodestar",
    "lamp": "floor~lamp lampshade lantern luminaire bedside~lamp reading~lamp nightlight standard~lamp",
    "chair": "stool dining~chair armchair side~chair recliner rocker highchair backrest bentwood~chair",
    "balloon": "party~balloon helium~balloon air~balloon blimp latex~balloon inflatable birthday~balloon zeppelin",
    "mushroom": "fungus:fungi agaric amanita champignon puffball bolete button~mushroom chanterelle morel cep",
    "bus": "school~bus:buses minibus:minibuses city~bus:buses tour~bus:buses omnibus:omnibuses shuttle"
    " trolleybus:trolleybuses minivan motorcoach:motorcoaches charabanc camper van",
    "apple": "crabapple pippin eating~apple russet cooking~apple bramley windfall",
    "plane": "aeroplane airliner aircraft:aircraft jetliner passenger~plane jumbo~jet biplane seaplane turboprop"
    " monoplane airbus:airbuses propjet freighter warplane jumbo floatplane",
    "table": "workbench:workbenches tabletop dining~table coffee~table countertop side~table bureau trestle"
    " sideboard worktop card~table lectern",
    "hat": "top~hat topper bowler headgear:headgear fedora derby stovepipe~hat trilby bonnet"
    " headdress:headdresses homburg opera~hat",
    "butterfly": "monarch moth swallowtail flutterer lepidopteran admiral~butterfly fritillary hairstreak skipper"
    " brimstone~butterfly skimmer",
    "snowman": "snow~figure snowperson:snowpeople snow~sculpture snow~statue snowbody:snowbodies snow~buddy",
    "book": "notebook hardcover volume textbook novel paperback tome manual diary hardback storybook dictionary"
    " ledger journal album handbook almanac logbook atlas:atlases",
    "rabbit": "hare cottontail bunny~rabbit lop angora jackrabbit leveret lagomorph coney chinchilla~rabbit"
    " dwarf~rabbit",
    "bicycle": "cycle road~bike mountain~bike two-wheeler pushbike velocipede tandem ten-speed roadbike fixie",
    "clock": "wall~clock timepiece alarm~clock dial chronometer horologe",
    "basket": "hamper wicker~basket picnic~basket bread~basket pannier creel trug bushel~basket punnet corf",
    "duck": "duckling mallard waterfowl:waterfowl drake pintail waterbird merganser teal~duck eider quacker"
    " wigeon gadwall",
    "rocket": "spaceship spacecraft:spacecraft missile space~rocket booster shuttlecraft:shuttlecraft starship"
    " moon~rocket projectile",
    "cone": "traffic~cone pylon safety~cone road~cone marker traffic~marker warning~cone",
    "cactus": "saguaro succulent cactus~plant prickly~pear desert~plant cereus:cereus opuntia cholla",
    "bottle": "wine~bottle flask decanter carafe beer~bottle vial phial magnum soda~bottle demijohn cruet",
    "turtle": "terrapin sea~turtle snapping~turtle loggerhead leatherback slider testudo",
    "heart": "valentine love~heart sweetheart love~symbol heartlet",
    "drum": "snare~drum tom-tom tambour bongo snare conga tabor side~drum kettledrum tympanum timbrel"
    " percussion~drum",
    "snail": "garden~snail mollusc gastropod land~snail slug periwinkle whelk",
    "guitar": "acoustic~guitar ukulele lute banjo mandolin six-string",
    "crown": "tiara coronet diadem circlet",
    "candle": "taper candlestick pillar~candle votive wax~candle",
    "windmill": "mill wind~turbine grist~mill post~mill",
    "crab": "crustacean sand~crab shore~crab fiddler~crab",
    "key": "door~key skeleton~key latchkey passkey",
    "robot": "android automaton cyborg droid",
    "whale": "humpback cetacean sperm~whale orca",
    "castle": "fortress:fortresses fort citadel stronghold",
    "helicopter": "chopper rotorcraft:rotorcraft whirlybird",
    "teapot": "kettle samovar tea~kettle",
    "octopus": "squid cephalopod kraken",
}  # fmt: skip
CLASSES: dict[str, str] = {
    "animal": "dog cat bird rabbit fish duck turtle butterfly snail crab whale octopus",
    "vehicle": "car bus bicycle boat plane rocket helicopter",
    "plant": "tree flower mushroom cactus",
    "building": "house windmill castle",
    "toy": "ball cube kite star balloon heart cone snowman robot drum guitar crown",
    "object": "cup umbrella lamp chair apple table hat book clock basket bottle candle key teapot",
}  # fmt: skip
# Impressions of an annotator, plausible for any drawing of the class.
ADJECTIVES: dict[str, str] = {
    "animal": "cute young adorable furry happy playful friendly alert curious baby stray quiet calm sweet lovely"
    " cheerful smiling fluffy sleek chubby wild tame energetic gentle lively pretty plump funny domestic scruffy"
    " skinny shy clever peaceful contented nosy wide-eyed hungry frisky timid bold silly graceful watchful perky"
    " soft agile mischievous stocky proud lean healthy inquisitive pudgy innocent relaxed charming bashful"
    " rambunctious docile obedient spunky scrawny dainty nimble eager serene stoic jolly slender placid merry"
    " well-fed precious sprightly attentive winsome rotund drowsy",
    "vehicle": "old new vintage modern classic fancy antique fast sporty toy retro bright clean stylish sleek"
    " old-fashioned compact simple nice shabby rusty expensive sturdy private cartoon rugged cool elegant"
    " commercial custom restored dusty colorful local family foreign speedy trim nimble powerful boxy dainty"
    " streamlined model miniature abandoned basic charming handsome futuristic dated quaint dependable empty full"
    " weathered battered cheerful bulky lightweight neat spotless historic swift unmarked generic",
    "plant": "pretty tall lush beautiful leafy fresh healthy wild young lovely bright delicate colorful"
    " tropical nice thick round blooming tender mature exotic elegant vibrant native sturdy slim"
    " flourishing short bushy vivid thriving potted ornamental graceful dense cheerful sweet stunning budding"
    " sprouting spindly hardy slender gorgeous picturesque natural woodland sunlit bare majestic perennial"
    " fragrant shapely plump stately gnarled verdant",
    "building": "nice old quaint pretty simple cozy suburban country traditional rustic empty abandoned stone"
    " lovely charming modest family humble rural neat historic remote modern picturesque weathered boxy sturdy"
    " well-kept peaceful two-story quiet stately colonial narrow ordinary secluded symmetrical deserted painted"
    " old-fashioned grand plastered homely sleepy gabled tidy cheerful",
    "toy": "bright colorful toy plastic simple nice rubber pretty vibrant cheerful festive new old vivid solid"
    " decorative cartoon inflated smooth fun lovely perfect geometric funny neat cute fancy basic bold brilliant"
    " clean paper crisp delicate dazzling lightweight playful sharp sturdy whimsical beautiful handmade classic"
    " novelty ornamental jolly souvenir childish rigid quirky shapely elegant modest graphic floppy tidy plump",
    "object": "nice old simple empty antique new modern vintage pretty ceramic plastic metal fancy open"
    " decorative clean ornate elegant painted sturdy bright old-fashioned unusual stylish lovely neat charming"
    " fresh traditional colorful delicate smooth worn retro everyday basic ordinary handmade rustic tidy curvy"
    " thin thick slender household quaint tilted cheap expensive fine clear heavy lightweight practical tasteful"
    " dusty familiar humble graceful modest unbranded well-made cute quirky classic solid squat dainty beautiful"
    " artistic oversized battered crooked",
}  # fmt: skip
# Looks of a kind's drawing, and its visible parts, to follow "with": noun phrases, a plural without "a".
LOOKS: dict[str, str] = {
    "ball": "round bouncy spherical rubber playground",
    "dog": "floppy-eared short-haired long-tailed barking loyal pet",
    "car": "two-door four-wheeled passenger toy",
    "tree": "leafy round-topped deciduous shady bushy",
    "cat": "whiskered pointy-eared slinky pet long-tailed stray",
    "house": "single-story two-windowed pitched-roof detached",
    "boat": "two-sailed wind-powered fishing seaworthy",
    "bird": "feathered chirping long-beaked singing tweeting",
    "flower": "five-petaled long-stemmed blossoming garden petaled",
    "fish": "scaly finned tropical freshwater slippery",
    "cup": "hot ceramic porcelain handled coffee",
    "cube": "square three-dimensional boxy solid right-angled",
    "kite": "diamond-shaped paper windblown",
    "umbrella": "open hooked rainproof wide folding",
    "star": "five-pointed pointy twinkly",
    "lamp": "bright electric bedside lit",
    "chair": "straight-backed four-legged high-backed armless",
    "balloon": "round inflated helium-filled weightless",
    "mushroom": "thick-stemmed poisonous edible",
    "bus": "long boxy double-door crowded public",
    "apple": "ripe juicy fresh crisp delicious round",
    "plane": "winged twin-engine jet-powered airborne",
    "table": "four-legged flat sturdy long bare",
    "hat": "tall brimmed felt formal",
    "butterfly": "delicate two-winged fragile",
    "snowman": "frosty carrot-nosed frozen jolly smiling icy",
    "book": "open thick leather-bound hardbound illustrated",
    "rabbit": "long-eared cotton-tailed fluffy pet",
    "bicycle": "two-wheeled ten-speed pedal",
    "clock": "round analog ticking wall-mounted",
    "basket": "woven wicker handled straw carrying",
    "duck": "web-footed quacking rubber feathered",
    "rocket": "pointed space-bound finned fiery",
    "cone": "pointed plastic cautionary",
    "cactus": "prickly spiny thorny desert spiky",
    "bottle": "see-through corked labeled empty slim",
    "turtle": "hard-shelled slow scaly wrinkled",
    "heart": "romantic lovely symmetrical valentine",
    "drum": "round musical beaten tight-skinned loud",
    "snail": "slimy spiral-shelled slow",
    "guitar": "acoustic six-stringed musical",
    "crown": "jeweled royal regal pointed",
    "candle": "waxy lit melting",
    "windmill": "four-bladed dutch-style tall",
    "crab": "clawed ten-legged hard-shelled",
    "key": "metal toothed brass",
    "robot": "mechanical metallic",
    "whale": "spouting",
    "castle": "medieval walled",
    "helicopter": "rotary-winged",
    "teapot": "spouted lidded",
    "octopus": "eight-armed tentacled",
}  # fmt: skip
DETAILS: dict[str, str] = {
    "ball": "bright~highlight|smooth surface|curved outline|soft sheen|round outline",
    "dog": "floppy ears|long tail|raised tail|wet nose|big eye|round snout|four thin legs|droopy ear|drooping"
    " ears|raised snout|stubby paws|stiff legs",
    "car": "round wheels|side windows|two doors|headlight|thick tires|windshield|front bumper|exhaust pipe|low"
    " roof|tinted windows|hubcaps|curved hood",
    "tree": "round top|thick trunk|leafy branches|lots of leaves|heavy boughs|leafy top|sturdy trunk|dense"
    " leaves|short trunk",
    "cat": "pointed ears|long tail|whiskers|curled tail|upright tail|pointy ears|big eye|soft paws|long"
    " whiskers|thin legs|little mouth",
    "house": "chimney|front door|two windows|pointed roof|steep roof|tiled roof|closed door|square"
    " windows|slanted roof|gable|doorstep",
    "boat": "tall mast|two sails|raised sails|wide hull|triangular sails|large sail|full sails|mainsail|jib|broad"
    " deck|canvas sails",
    "bird": "short beak|big wings|open beak|long tail|pointed beak|feathers|thin legs|bright eye|tail"
    " feathers|round belly|outstretched neck|raised head|little claws",
    "flower": "broad leaves|round petals|long stem|open petals|five petals|bright center|two leaves|curved"
    " petals|soft petals|slim stalk",
    "fish": "big eye|triangular tail|two fins|pointed fins|open mouth|scales|flat body|forked tail|dorsal"
    " fin|gills|pointed tail",
    "cup": "handle|curved handle|round rim|empty inside|thick rim|wide mouth|saucer-like base",
    "cube": "sharp edges|three visible sides|flat faces|square sides|corners|smooth faces|even sides",
    "kite": "long tail|string|ribbons|bows|crossed sticks|wavy tail|loose string|short string|knotted tail",
    "umbrella": "curved handle|hooked handle|open canopy|pointed tip|spread ribs|scalloped edge|long shaft",
    "star": "five points|sharp points|bright edges|bright rays|sharp tips|pointed arms",
    "lamp": "wide shade|round base|bright bulb|thin stand|metal base|pleated shade|round bulb|short stem",
    "chair": "high back|four legs|straight legs|wide back|flat cushion|slim legs|curved back|low seatback",
    "balloon": "short string|knotted end|thin string|curly ribbon|small knot|bright reflection|dangling string",
    "mushroom": "spots|round cap|thick stem|smooth stem|wide cap|big cap|short stalk|domed cap",
    "bus": "many windows|big wheels|side doors|row of windows|long roof|large windshield|thick tires|passenger"
    " windows|bumpers",
    "apple": "leaf|short stem|leaf|smooth skin|stalk|clean skin",
    "plane": "long wings|two wings|pointed nose|tail fin|round windows|swept wings|row of windows|jet"
    " engines|long fuselage",
    "table": "four legs|flat top|short legs|long legs|bare top|straight legs|thick top|square corners",
    "hat": "wide brim|flat top|ribbon|band|curved brim|narrow ribbon|rounded brim|silk band",
    "butterfly": "open wings|spread wings|long antennae|rounded wings|spots on its wings|wide wings|thin"
    " antennae|bright wings",
    "snowman": "carrot nose|stick arms|pebble buttons|smile|coal eyes|twig arms|round belly|buttons",
    "book": "open pages|thick cover|hard cover|blank cover|bent spine|many pages|loose pages|label|printed title",
    "rabbit": "long ears|cotton tail|fluffy tail|upright ears|big ears|whiskers|short tail|twitching nose|strong"
    " legs",
    "bicycle": "two wheels|thin tires|handlebars|pedals|spoked wheels|thick tires|metal frame|saddle|chain",
    "clock": "two hands|thin hands|round face|plain dial|tick marks|blank face|pointed hands|minute hand|thick"
    " rim",
    "basket": "tall handle|woven sides|curved handle|wide rim|carrying handle|woven bands|open top",
    "duck": "bright bill|flat beak|long neck|curved neck|webbed feet|round body|short tail|broad bill|folded"
    " wings",
    "rocket": "pointed nose|round porthole|side fins|flames|fiery tail|trail of smoke|window|sharp fins",
    "cone": "bright band|wide base|pointed tip|bright band|square base|sharp tip",
    "cactus": "two arms|sharp spines|prickly needles|thorns|raised arms|ribbed trunk|curved arms|needles",
    "bottle": "cork|long neck|narrow neck|blank label|thin neck|stopper|paper label",
    "turtle": "hard shell|short legs|domed shell|little tail|rounded shell|stubby legs|wrinkled head|wrinkled"
    " neck",
    "heart": "rounded top|pointed bottom|soft highlight|smooth curves|bright edge|even halves",
    "drum": "two sticks|drumsticks|crossed sticks|tight skin|crossed laces|stretched skin|corded sides",
    "snail": "spiral shell|long feelers|curled shell|eye stalks",
    "guitar": "long neck|round hole|six strings|tuning pegs",
    "crown": "jewel|points|sharp points|gem",
    "candle": "bright flame|holder|round base|dripping wax|wick",
    "windmill": "four blades|large sails|narrow door|long blades",
    "crab": "big claws|raised claws|thin legs|pincers",
    "key": "round bow|teeth|notches|long shaft",
    "robot": "antenna|square head|metal arms|buttons",
    "whale": "spout of water|wide flukes|broad tail|smooth belly",
    "castle": "flag|battlements|turrets|tall walls|gate",
    "helicopter": "rotor|rotor blades|landing skids|tail boom",
    "teapot": "curved spout|lid|knob",
    "octopus": "eight arms|tentacles|suckers",
}  # fmt: skip
SHADES: dict[str, str] = {
    "red": "red crimson scarlet reddish ruby cherry-red vermilion cardinal-red rust-red cerise blood-red rosy-red"
    " ketchup-colored",
    "blue": "blue navy azure royal-blue sapphire bluish cobalt ultramarine deep-blue cerulean indigo deep-blue"
    " denim-blue lapis",
    "green": "green emerald jade greenish olive grass-green mossy-green deep-green leaf-green shamrock"
    " forest-green viridian",
    "yellow": "yellow golden lemon mustard yellowish bright-yellow amber sunny-yellow canary-yellow butter-yellow"
    " saffron",
    "white": "white ivory snow-white whitish cream-white milky chalky off-white pearly alabaster colorless"
    " bone-white",
    "black": "black jet-black ebony blackish inky coal-black pitch-black charcoal-black sooty raven-black onyx",
    "orange": "orange tangerine bright-orange apricot coral amber-orange carrot-colored pumpkin-colored"
    " rusty-orange tawny",
    "purple": "purple violet lavender plum lilac purplish magenta mauve grape-colored amethyst eggplant-colored",
    "pink": "pink rosy fuchsia salmon-pink pinkish hot-pink rose-colored blush bubblegum-pink flamingo-pink",
    "brown": "brown tan chestnut-brown chocolate brownish auburn coffee-colored bronze caramel hazel mahogany"
    " russet-brown sienna",
    "grey": "gray grey silver greyish slate ash-gray smoky deep-gray light-gray stone-gray leaden steel-gray"
    " pewter",
}  # fmt: skip
PATTERNS: dict[str, str] = {
    "striped": "striped stripy banded stripey pinstriped candy-striped barred lined streaked",
    "dotted": "dotted polka-dot spotted polka-dotted speckled dotty flecked freckled dappled",
    "checked": "checkered checked plaid chequered gingham tartan grid-patterned checkerboard",
    "shiny": "shiny gleaming reflective lustrous glazed sparkly-clean lacquered",
    "wooden": "wooden timber",
    "zigzag": "zigzag zigzag-patterned zigzagged",
    "rainbow": "rainbow rainbow-colored rainbow-hued",
}  # fmt: skip
SIZES: dict[str, str] = {
    "small": "small little tiny miniature mini petite smallish wee teeny diminutive undersized minuscule"
    " pint-sized itty-bitty",
    "medium": "medium-sized average-sized regular mid-sized normal-sized",
    "large": "large big huge giant enormous massive oversize gigantic sizable immense hefty towering jumbo-sized"
    " humongous colossal",
}  # fmt: skip
NUMBERS: dict[int, str] = {
    2: "two a_couple_of a_pair_of twin a_duo_of",
    3: "three a_group_of several a_trio_of some a_few a_bunch_of a_set_of a_row_of a_cluster_of a_threesome_of",
    4: "four a_group_of several some a_bunch_of a_few a_cluster_of a_number_of a_collection_of a_handful_of"
    " a_quartet_of multiple",
}  # fmt: skip
FLOCKS: dict[str, str] = {
    "bird": "flock",
    "duck": "flock",
    "fish": "school shoal",
    "flower": "bouquet bunch",
    "dog": "pack",
    "cat": "litter",
    "book": "stack pile",
    "balloon": "bunch",
    "car": "line row",
    "tree": "grove clump",
    "boat": "fleet",
    "butterfly": "swarm",
    "bus": "line fleet",
    "plane": "squadron",
    "rabbit": "colony family",
    "chair": "set row",
}  # fmt: skip
# Verbs of each action, and adverbs or phrases that may follow.
VERBS: dict[str, str] = {
    "rolling": "roll tumble trundle coast wheel~along travel move",
    "bouncing": "bounce bound~up spring~up rebound bob/bobbing",
    "falling": "fall drop/dropping fall~down plummet plunge tumble~down topple come~down descend",
    "running": "run/running run~along/running race sprint jog/jogging trot/trotting dash gallop dart~off bolt"
    " scamper romp scurry hurry charge speed~off rush bound~along lope tear~along",
    "jumping": "jump leap jump~up hop/hopping spring vault pounce bound skip/skipping leap~up prance lunge",
    "sitting": "sit/sitting sit~down/sitting squat/squatting perch crouch settle~down",
    "sleeping": "sleep nap/napping lie~down/lying doze snooze slumber nap~away/napping curl~up doze~off"
    " snore~away",
    "driving": "drive drive~along cruise ride~along travel~along roll~along motor speed~along zoom~along pull~off",
    "swaying": "sway wave~about swing bend~over rock~about blow~about shake flutter~about quiver wobble",
    "sailing": "sail sail~along float~along cruise~along glide~along drift navigate ply~along sail~off voyage",
    "flying": "fly soar fly~by glide hover fly~off flap~along/flapping sail~by swoop fly~around wing~along"
    " zip~by/zipping circle~around",
    "swimming": "swim/swimming swim~along/swimming swim~around/swimming paddle wade dive~down float~around"
    " splash~about dart~about",
    "steaming": "steam steam~away smoke",
    "leaning": "lean tilt tip~over/tipping lean~over slant list~over tip/tipping slope incline",
    "shining": "shine glow sparkle glimmer twinkle shine~down beam glisten glitter radiate",
    "floating": "float drift~upward float~up rise float~away hover~about drift~by levitate waft~along",
    "spinning": "spin/spinning turn rotate twirl whirl revolve spin~around/spinning swirl twist gyrate",
    "crawling": "crawl creep crawl~along inch~along plod~along/plodding slink scuttle trudge amble~along",
    "burning": "burn flicker blaze burn~away flare glow~warmly",
}  # fmt: skip
ADVERBS: dict[str, str] = {
    "rolling": "downhill quickly freely away slowly smoothly",
    "bouncing": "high repeatedly wildly happily",
    "falling": "fast suddenly downward sideways headfirst helplessly",
    "running": "fast quickly happily away around freely swiftly playfully wildly eagerly briskly",
    "jumping": "high happily excitedly around energetically joyfully playfully gracefully",
    "sitting": "quietly alone calmly still patiently peacefully politely upright",
    "sleeping": "peacefully soundly quietly comfortably deeply alone cozily",
    "driving": "slowly fast quickly past away by carefully",
    "swaying": "gently softly slightly lightly slowly",
    "sailing": "slowly peacefully smoothly past calmly away",
    "flying": "high low gracefully overhead away freely fast past swiftly",
    "swimming": "slowly around alone gracefully quickly happily lazily",
    "steaming": "hot gently nicely",
    "leaning": "sideways slightly precariously heavily forward",
    "shining": "brightly softly warmly clearly brilliantly dimly",
    "floating": "freely upward high gently lightly away",
    "spinning": "around quickly wildly fast rapidly slowly",
    "crawling": "slowly around steadily carefully sluggishly",
    "burning": "brightly steadily softly slowly",
}  # fmt: skip
MANNERS: dict[str, str] = {
    "rolling": "down a slope|across the ground|along the ground|at speed",
    "bouncing": "off the ground|into the air|in mid air",
    "falling": "through the air|to the ground|from above|from the sky|in mid air|out of the sky",
    "running": "at full speed|across the ground|in a hurry|through the scenery|at a gallop|for fun|with great"
    " speed",
    "jumping": "into the air|in the air|in mid air|off the ground|with joy|for joy|over the ground",
    "sitting": "on its bottom|on its haunches|on the ground|by itself|in the open",
    "sleeping": "on the ground|on its side|on its belly|by itself|in the open",
    "driving": "at speed|to the side|by itself|from left to right|with its lights on",
    "swaying": "in the wind|in the breeze|from side to side|in a light wind",
    "sailing": "in the wind|with full sails|in a breeze|through waves|over waves|on calm waves",
    "flying": "through the air|in the air|across the sky|in the sky|at a low height|up high|in mid air",
    "swimming": "through the water|in the water|near the surface|in clear water|by itself",
    "steaming": "with heat|with hot steam|in the cold",
    "leaning": "to one side|to the side|to the left|at an angle|off balance",
    "shining": "with bright rays|with light|in all directions|in the dark",
    "floating": "in the air|through the air|in the sky|into the sky|in mid air|on a breeze",
    "spinning": "in circles|in place|in the wind|on the spot",
    "crawling": "across the ground|at a slow pace|on its belly|along the ground",
    "burning": "with a bright flame|with a steady flame|in the dark",
}  # fmt: skip
# Verbs for things that do nothing: active verbs, and passive participles.
STANDING: dict[str, str] = {
    "animal": "stand pose wait stand~around look~around stare linger face~forward gaze~off",
    "vehicle": "stand wait idle stand~by",
    "plant": "grow stand sprout flourish thrive",
    "building": "stand tower~up loom~up stand~tall/standing",
    "toy": "rest stand stay balance wait",
    "object": "rest stand stay balance wait",
}  # fmt: skip
PLACED: dict[str, str] = {
    "animal": "shown seen pictured photographed captured posed",
    "vehicle": "parked shown stopped pictured seen displayed left stationed photographed",
    "plant": "planted seen rooted pictured shown found photographed",
    "building": "located built situated seen pictured nestled constructed shown set",
    "toy": "placed shown seen displayed positioned pictured left set drawn arranged painted",
    "object": "placed set displayed shown left seen positioned pictured arranged kept put drawn deposited"
    " centered",
}  # fmt: skip
PERCHES: dict[str, str] = {
    "animal": "perched balanced standing resting posed hiding curled placed seated",
    "any": "sitting placed resting set balanced standing kept lying stored perched piled left tucked positioned",
}  # fmt: skip
RELATIONS: dict[str, str] = {
    "left of": "next_to beside to_the_left_of near by on_the_left_of close_to alongside on_the_left_side_of"
    " left_of at_the_side_of adjacent_to not_far_from",
    "right of": "next_to beside to_the_right_of near by on_the_right_of close_to alongside on_the_right_side_of"
    " right_of at_the_side_of adjacent_to not_far_from",
    "above": "above over high_above up_above",
    "below": "below under beneath underneath right_below directly_below",
    "behind": "behind in_back_of at_the_back_of right_behind just_behind",
    "in front of": "in_front_of before right_in_front_of ahead_of directly_in_front_of",
    "on": "on on_top_of atop on_the_top_of upon",
    "in": "in inside inside_of within",
}  # fmt: skip
# Rare impressions that fit anything, in no order.
RARE_ADJECTIVES = (
    "admirable aesthetic aged alluring amazing amusing appealing arresting attractive awesome awkward balanced"
    " barren buoyant bizarre bland blurred blurry boring boxed brawny brisk brittle broad burly casual centered"
    " ceremonial chic chipped chunky civilized coarse comfy comical common complete complex confident conspicuous"
    " contemporary conventional cooled costly countrified covered cracked crafted crinkled crumpled cultured"
    " cushioned dangerous decent decorated dented detailed different dignified discreet distinct distorted"
    " dramatic dreamy dull durable earthy easygoing eccentric edgy elaborate elderly elongated embellished"
    " enchanting endearing engaging enlarged erect especial ethereal everlasting exceptional excellent exposed"
    " exquisite extended extraordinary eye-catching fabulous faded faint fake famous fantastic fashionable fat"
    " favorite fearless fetching filthy firm fitted flashy flattened flawless flexible floral folksy forgotten"
    " formidable fragile frail framed frayed frumpy fuzzy gaudy generous gentlemanly ghostly girlish glamorous"
    " gleeful glorious goofy grainy grandiose grimy grizzled groovy grubby gruff hairy hardened harmless hazy"
    " heavenly hidden hollow homey homespun huddled hulking iconic identical illuminated imposing impressive"
    " inexpensive innocuous intact interesting intricate inviting iridescent irregular isolated jagged jaunty"
    " jaded joyful joyous kempt keen kindly kitschy knobby lanky laughable lavish layered lengthy likeable limp"
    " littered lopsided loud lumpy luminous luscious luxurious magical magnificent malformed manicured marvelous"
    " massy matching matte meager mean mellow memorable metallic mild minimal misplaced misshapen moist moody"
    " muddy muscular musty muted mysterious narrow neglected nifty noble nondescript nostalgic noteworthy"
    " noticeable odd oblong okay opaque opulent orderly organic original ornery outlandish outstanding oval"
    " overgrown overturned partial patient peculiar perfect petrified photogenic placid pleasant pleasing plush"
    " pointy poised popular posh primitive prim princely pristine prominent proper protective pure puny puffy"
    " puzzled quizzical rad radiant ragged random rare raw realistic refined refreshing relaxing reliable"
    " remarkable resplendent restful rickety ridged rigid robust romantic rough rounded rowdy ruffled rumpled sad"
    " saggy sassy saturated savvy scary scenic scratched seasoned secure sensible serious severe shadowy shaggy"
    " shaded shapeless sharp sheltered showy sideways silent silky singular slanted slick slim sloppy slow smart"
    " smug smudged snappy snazzy snug soaked sober soggy solemn somber sought special spectacular spiffy splendid"
    " spindly spruce spry squarish squashed squeaky stable stained stark startled steady steep stiff"
    " stinky stout straight strange striking strong stubby studious stumpy stunning sturdy subdued subtle sullen"
    " sunlit superb supple surprising surreal sweaty swanky swell symbolic tanned tarnished tasty tattered tacky"
    " tempting tepid terrific textured theatrical thin tidy timeless tired tough toned trendy tropical trusty"
    " twisted typical ugly unassuming uncommon uneven unimpressive untouched upbeat upright usual vacant valuable"
    " varnished vast velvety vibrant vigilant virtual vivid wacky wary warm washed watery waxy weary"
    " weird weighty well-lit wet wholesome wicked wide wilted windswept wise wispy witty wonderful wonky worthy"
    " woolly wrinkly yummy zany abstract angular artificial baggy bald bony boyish breezy bristly bubbly calming"
    " candid careful cartoonish chilly clumsy cloudy cluttered collectible concealed crisp cuddly curious curved"
    " cylindrical damp dapper dim dirty drab droll dry elastic fierce flimsy fluttery foamy foreign freaky frilly"
    " glassy gloomy grumpy hefty iffy jumpy kooky leathery lovable lucky mighty misty nerdy obese ordinary pasty"
    " perplexed plucky pompous quick rubbery rusted scrappy shallow sheepish shimmery silvered sinister skimpy"
    " sleepy smelly smooth snoozy sparse springy squishy starry-eyed stylized sunny swift tangled tangy tender"
    " tense toasty translucent transparent trim vertical whimsical wiry worried worn-out youthful zesty"
)
# An annotator's guesses about a thing's action or use: participles with their complements.
COMMENTS: dict[str, str] = {
    "animal": "looking for food|enjoying the weather|waiting for its owner|looking at the camera|ready to"
    " play|having fun|minding its own business|looking around|searching for something|looking for a"
    " snack|enjoying the view|wanting attention|going about its day|exploring the area|guarding its"
    " territory|watching something|getting some exercise|resting its legs|waiting for a treat|looking very"
    " content|chasing its shadow|following a scent|hunting for insects|looking for a mate|taking a break|enjoying"
    " its freedom|escaping from danger|performing a trick|passing the time|posing for a picture|looking for"
    " shelter|hoping for dinner|staring into space|keeping watch|ignoring the photographer|listening for"
    " sounds|sniffing the air|stretching its muscles|showing its profile|facing the viewer|trying to hide|looking"
    " for company|admiring the scenery|wandering without purpose|begging for crumbs|heading back to its"
    " nest|showing some curiosity|getting ready for bed|practicing its moves|wagging with excitement|making a"
    " mess|thinking about lunch|expecting visitors|looking for trouble|entertaining an audience|playing a"
    " game|avoiding strangers|learning a skill|checking its surroundings|dreaming of adventures|celebrating its"
    " birthday|visiting relatives|defending its home",
    "vehicle": "going somewhere|waiting for passengers|heading for home|carrying people|looking brand new|ready"
    " to go|making a trip|leaving for a journey|carrying tourists|arriving at its destination|making a stop|going"
    " on vacation|delivering packages|looking for parking|taking commuters to work|needing a wash|showing its"
    " age|passing by|making good time|wasting fuel|transporting cargo|picking up students|leaving a"
    " trail|following its route|belonging to a museum|attracting attention|facing to the right|missing its"
    " driver|getting ahead|starting its engine|changing course|gaining altitude|rounding the corner|exceeding the"
    " limit|departing on schedule|avoiding traffic|serving the public|winning a competition|waiting for"
    " repairs|leaving the station|carrying equipment",
    "plant": "reaching for the light|needing some water|giving some shade|looking healthy|in full"
    " splendor|growing tall|attracting insects|catching the light|standing out|in need of pruning|opening"
    " up|getting plenty of sunshine|adding some color|showing new growth|bearing nothing|spreading its"
    " seeds|surviving the drought|ready for picking|facing upward|shedding pollen|taking root|waiting for"
    " rain|entering its season|perfuming the air|releasing spores|looking quite edible|marking the"
    " border|welcoming bees|soaking up nutrients|decorating the landscape",
    "building": "looking empty|waiting for a buyer|facing the front|needing fresh paint|with nobody"
    " around|looking cozy|for sale|showing its age|providing shelter|owned by a farmer|welcoming guests|needing"
    " repairs|with no neighbors|awaiting renovation|built by hand|hosting a party|serving as a landmark|housing a"
    " family|missing its fence|facing the sunset|belonging to a widow|offering accommodation|looking haunted|with"
    " the heating on|under new ownership",
    "toy": "looking fun|ready to play|left by a child|made of plastic|standing out|used for games|for a birthday"
    " party|looking brand new|made for children|waiting for somebody|catching the light|used in class|as a"
    " decoration|looking very festive|made by hand|bought as a gift|for some celebration|meant as a joke|thrown"
    " by somebody|escaping from its owner|missing its partner|given as a prize|made of cardboard|used for"
    " practice|belonging to a toddler|marking the spot|symbolizing friendship|entertaining kids|lost by"
    " accident|used as a prop|designed by an artist|left after a parade|used for juggling|teaching"
    " geometry|costing a few dollars|decorating a nursery|for the carnival",
    "object": "ready for use|waiting to be used|left by somebody|looking brand new|made by hand|for sale|catching"
    " the light|in good condition|with nobody around|used every day|made of plastic|on display|for"
    " decoration|belonging to grandma|needing a good wash|in need of repair|bought at a market|left by its"
    " owner|used as a prop|found at a flea market|casting no shadow|ready for breakfast|given as a gift|left from"
    " a picnic|meant for guests|lost by a tourist|gathering dust|from another century|waiting for customers|ready"
    " for delivery|made in a workshop|kept as a souvenir|showing some scratches|costing a fortune|matching the"
    " decor|saved from the trash|ready for a banquet|sold at auction|passed down through generations|borrowed"
    " from a friend|donated to charity|packed for a trip|selected by experts",
}  # fmt: skip
# Rare adverbs of actions, in no order.
RARE_ADVERBS = (
    "aimlessly awkwardly beautifully boldly bravely busily carelessly casually cautiously cheerfully clumsily"
    " comfortably confidently contentedly continuously cutely delicately dramatically easily effortlessly"
    " elegantly endlessly excitedly feverishly frantically furiously gleefully haphazardly harmlessly hastily"
    " intently lightly lively majestically merrily mysteriously naturally neatly nervously nicely nimbly noisily"
    " perfectly pleasantly powerfully proudly randomly recklessly safely serenely sharply silently silently"
    " simply steadily strangely suspiciously swiftly tightly together unsteadily vigorously visibly warily weakly"
    " wearily"
)
# Words for a picture with the word after them, and adjectives for it.
FRAMES = (
    "photo of|picture of|close~up of|image of|view of|cartoon of|drawing of|picture showing|close-up of|scene"
    " of|side~view of|illustration of|image showing|photograph of|graphic of|shot of|scene showing|painting"
    " of|front~view of|drawing showing|cartoon~image of|computer~drawing of|sketch of|clipart of|illustration"
    " featuring|snapshot of|portrait of|rendering of|depiction of|animation of"
)
FRAME_ADJECTIVES = (
    "simple cute colorful nice animated digital close bright clear pretty basic flat detailed childlike stylized"
    " blurry cropped graphic artistic sweet cheerful small zoomed minimalist crude fun outdoor artsy playful"
)
# Words of alt texts after the caption, after a comma, and before the caption with "of".
SUFFIXES = (
    "stock~photo stock~image illustration vector image stock~photos vector~illustration photo clipart"
    " stock~photography cartoon~illustration wallpaper icon photography drawing clip~art picture"
)
ASIDES = "close~up side~view close-up front~view closeup full~length low~angle wide~shot macro~shot eye~level"
OPENERS = (
    "photo close~up illustration image picture vector~illustration view portrait drawing cartoon stock~photo"
    " closeup"
)
# Words for pictures, not for their content.
FRAME_WORDS = (
    "photo photos picture image images view close up closeup cartoon drawing scene illustration photograph"
    " graphic shot painting computer sketch clipart clip art snapshot portrait rendering depiction animation"
    " stock vector royalty free zoomed cropped blurry macro length angle level detailed digital animated stylized"
    " setting landscape photography wallpaper icon background isolated picturing showing shows shown pictured"
    " footage hd jpg"
)
# Words above for an impression rather than a look: not visible.
IMPRESSIONS = (
    "cute adorable happy playful friendly alert curious calm sweet lovely cheerful wild tame energetic gentle"
    " lively pretty funny clever peaceful contented nosy hungry timid bold silly watchful perky mischievous proud"
    " healthy inquisitive innocent charming bashful obedient nice beautiful precious sprightly attentive modern"
    " classic fancy cool elegant commercial custom local family foreign private generic expensive cheap"
    " dependable historic humble lush exotic stunning gorgeous picturesque natural native sturdy simple fun"
    " festive perfect neat whimsical brilliant novelty basic modest quirky jolly traditional practical tasteful"
    " familiar everyday ordinary unusual quaint lonely loyal pet delicious poisonous edible romantic royal regal"
    " musical crowded public quiet loud serene merry welcoming"
)
