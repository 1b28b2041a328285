"""How much a list of captions resembles the web's: text statistics, beside those of LAION, CC3M and COCO."""
