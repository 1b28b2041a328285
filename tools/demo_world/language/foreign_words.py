"""Words of captions in other languages, by language and class: phrases separated by commas, the frequent first.

`how` opens a sentence and `doing` continues it; `about` opens a title; `noun` has an article, `bare` has none.
"""

FOREIGN_WORDS = """
= german verb-last
how: wie man, warum wir, so kann man, wann man, wo Sie, wie Sie, 7 Gründe warum wir, jeder will, niemand kann
about: alles über, Tipps für, Ideen für, Geschichte und, Gedanken über, die besten Rezepte für, Angebote für
noun: das Haus, die Stadt, den Garten, die Liebe, das Leben, die Schule, ein Geheimnis, die Zukunft, das Geld,
 ein Problem, die Arbeit, den Urlaub, das Wetter, eine Wohnung, die Gesundheit, das Frühstück, ein Gedicht,
 die Freiheit, den Kuchen
bare: Kinder, Möbel, Reisen, Küche, Hochzeit, Bücher, Schuhe, Winter, Sommer, Kaffee, Blumen, Musik, Fotos,
 Geschenke, Ferienwohnung, Öffnungszeiten, Kleidung, Nachrichten, Politik, Steuern, Versicherung, Rezepte,
 Weihnachten
doing: verstehen, kaufen, lieben, verändern, verlieren, planen, genießen, finden, vergessen, pflegen, sparen,
 erklären
where: in Berlin, im Süden, auf dem Land, am Meer, in der Nähe, aus Holz, für Anfänger, ohne Stress, im
 Alltag, nach Maß
when: heute, im Winter, jeden Tag, am Wochenende, seit gestern, im Herbst, für immer, im Jahr 2019, bald
 wieder
link: und, mit, ohne, oder, für, gegen
= spanish
how: cómo, por qué debes, cuándo, dónde, aprende a, nunca debes, 10 consejos para, es fácil, quiero, hay que
about: todo sobre, ideas para, la historia de, el arte de, fotos de, el secreto de, noticias sobre, venta de
noun: la casa, el amor, la vida, el dinero, los niños, una receta, la ciudad, el trabajo, la escuela, el
 futuro, un sueño, la salud, las flores, el mundo, la verdad, el miedo, la familia, un vestido, el jardín, los
 zapatos, la música
bare: recetas, muebles, libros, playas, zapatos, bodas, viajes, cocina, moda, juguetes, regalos, ofertas,
 noticias, precios, apartamentos, horarios, imágenes, frases, poemas, salud, deporte, elecciones
doing: comprar, cambiar, perder, encontrar, cuidar, entender, vender, organizar, disfrutar, preparar, ahorrar,
 decorar, olvidar
where: en casa, en Madrid, para principiantes, sin miedo, cerca del mar, en la cocina, de madera, paso a paso,
 del norte
when: hoy, este verano, cada día, en 2018, por la mañana, para siempre, esta noche, el lunes, en invierno
link: y, con, sin, o, para, contra
= french
how: comment, pourquoi il faut, quand, où, apprendre à, il ne faut jamais, 5 astuces pour, comment bien, l'art
 de, savoir
about: tout sur, des idées pour, l'histoire de, le guide de, photos de, à propos de, le secret de, location de
noun: la maison, l'amour, la vie, le temps, les enfants, une recette, la ville, le travail, l'école, l'avenir,
 un rêve, la santé, les fleurs, le monde, la vérité, la peur, le bonheur, une robe, le jardin, la musique, les
 vacances
bare: recettes, meubles, livres, plages, chaussures, mariage, voyages, cuisine, mode, jouets, cadeaux,
 actualités, prix, appartements, horaires, citations, poèmes, sport, élections, décoration, bijoux
doing: acheter, changer, perdre, trouver, choisir, comprendre, vendre, organiser, réussir, préparer, aimer,
 oublier, protéger
where: à la maison, à Paris, pour débutants, sans stress, en bord de mer, dans la cuisine, en bois, pas cher,
 du sud
when: aujourd'hui, cet été, chaque jour, en 2017, le matin, pour toujours, ce soir, lundi, en hiver
link: et, avec, sans, ou, pour, contre
= italian
how: come, perché dobbiamo, quando, dove, imparare a, non bisogna, 8 modi per, vorrei, è facile, chi vuole
about: tutto su, idee per, la storia di, l'arte di, foto di, i segreti di, notizie su, vendita di
noun: la casa, l'amore, la vita, il tempo, i bambini, una ricetta, la città, il lavoro, la scuola, il futuro,
 un sogno, la salute, i fiori, il mondo, la verità, la paura, la famiglia, un vestito, il giardino, la musica,
 le vacanze
bare: ricette, mobili, libri, spiagge, scarpe, matrimonio, viaggi, cucina, moda, giocattoli, regali, notizie,
 prezzi, appartamenti, orari, frasi, poesie, sport, elezioni, arredamento, gioielli
doing: comprare, cambiare, perdere, trovare, scegliere, capire, vendere, organizzare, preparare, amare,
 risparmiare, ricordare
where: in casa, a Roma, per principianti, senza paura, vicino al mare, in cucina, in legno, passo dopo passo,
 del nord
when: oggi, questa estate, ogni giorno, nel 2016, di mattina, per sempre, stasera, lunedì, in inverno
link: e, con, senza, o, per, contro
= portuguese
how: como, por que devemos, quando, onde, aprenda a, nunca deixe de, 6 dicas para, é fácil, quero, vamos
about: tudo sobre, ideias para, a história de, a arte de, fotos de, o segredo de, notícias sobre, venda de
noun: a casa, o amor, a vida, o tempo, as crianças, uma receita, a cidade, o trabalho, a escola, o futuro, um
 sonho, a saúde, as flores, o mundo, a verdade, o medo, a família, um vestido, o jardim, a música, as férias
bare: receitas, móveis, livros, praias, sapatos, casamento, viagens, cozinha, moda, brinquedos, presentes,
 notícias, preços, apartamentos, horários, frases, poemas, esporte, eleições, decoração, joias
doing: comprar, mudar, perder, encontrar, escolher, entender, vender, organizar, preparar, amar, economizar,
 lembrar
where: em casa, em Lisboa, para iniciantes, sem medo, perto do mar, na cozinha, de madeira, passo a passo, do
 sul
when: hoje, neste verão, todos os dias, em 2015, de manhã, para sempre, esta noite, segunda-feira, no inverno
link: e, com, sem, ou, para, contra
= dutch verb-last
how: hoe je, waarom we, wanneer u, zo kun je, waar mensen, 9 redenen om, iedereen wil, niemand kan
about: alles over, tips voor, ideeën voor, de geschiedenis van, de kunst van, foto's van, het geheim van
noun: het huis, de stad, de tuin, de liefde, het leven, de school, een geheim, de toekomst, het geld, een
 probleem, het werk, de vakantie, het weer, een woning, de gezondheid, het ontbijt, een gedicht, de vrijheid,
 de taart, de waarheid
bare: kinderen, meubels, reizen, keuken, bruiloft, boeken, schoenen, winter, zomer, koffie, bloemen, muziek,
 cadeaus, openingstijden, kleding, nieuws, politiek, belasting, verzekering, recepten, kerst
doing: begrijpen, kopen, veranderen, verliezen, plannen, genieten, vinden, vergeten, verzorgen, besparen,
 uitleggen, kiezen
where: in Amsterdam, in het zuiden, op het land, aan zee, in de buurt, van hout, voor beginners, zonder
 stress, op maat
when: vandaag, in de winter, elke dag, dit weekend, sinds gisteren, in de herfst, voor altijd, in 2014, morgen
link: en, met, zonder, of, voor, tegen
= polish
how: jak, dlaczego warto, kiedy, gdzie, nie wolno, 5 sposobów aby, trzeba, chcę, można, łatwo
about: wszystko o, pomysły na, sposób na, przepis na, kilka słów o, zdjęcia i, wystawa i, porady i
noun: dom, miłość, życie, czas, dzieci, pracę, miasto, szkołę, przyszłość, problem, zdrowie, kwiaty, świat,
 prawdę, rodzinę, sukienkę, ogród, muzykę, wakacje, pieniądze, kuchnię
bare: przepisy, meble, książki, plaże, buty, ślub, podróże, kuchnia, moda, zabawki, prezenty, wiadomości,
 ceny, mieszkania, cytaty, wiersze, sport, wybory, biżuteria, zima, lato
doing: kupić, zmienić, stracić, znaleźć, wybrać, zrozumieć, sprzedać, zaplanować, przygotować, kochać,
 oszczędzać, zapomnieć
where: w domu, w Warszawie, dla początkujących, bez stresu, nad morzem, w kuchni, z drewna, krok po kroku, na
 wsi
when: dzisiaj, latem, codziennie, w 2013 roku, rano, na zawsze, wieczorem, w poniedziałek, zimą
link: i, oraz, albo, lub
= russian
how: как, почему нужно, когда, где, нельзя, 7 способов, надо, хочу, можно, легко
about: всё про, идеи для дома и, рассказ про, советы и, фото и, новости и, несколько слов про
noun: дом, любовь, жизнь, время, детей, работу, город, школу, будущее, проблему, здоровье, цветы, мир, правду,
 семью, платье, сад, музыку, отпуск, деньги, кухню
bare: рецепты, мебель, книги, пляжи, обувь, свадьба, путешествия, кухня, мода, игрушки, подарки, новости,
 цены, квартиры, цитаты, стихи, спорт, выборы, украшения, зима, лето
doing: купить, изменить, потерять, найти, выбрать, понять, продать, спланировать, приготовить, любить,
 сберечь, забыть
where: дома, в Москве, для начинающих, без проблем, у моря, на кухне, из дерева, шаг за шагом, в деревне
when: сегодня, летом, каждый день, в 2012 году, утром, навсегда, вечером, в понедельник, зимой
link: и, или, а также
"""
