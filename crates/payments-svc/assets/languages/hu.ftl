### Hungarian

## Every page

payment-to-shop = Fizetés: { $shop }
test-payment = Ez egy teszt, nem történik pénzmozgás.
contact = Kérdések a rendeléséről
terms = Általános szerződési feltételek
privacy = Adatkezelési tájékoztató

## Amount form

amount = Összeg
amount-error =
    { $decimals ->
        [0] Adja meg az összeget számjegyekkel, tizedesjegyek nélkül.
       *[other] Adja meg az összeget számjegyekkel, legfeljebb { $decimals } tizedesjeggyel.
    }
currency = Pénznem
currency-error = Adja meg a pénznem hárombetűs kódját, például: EUR.
currency-unknown = Ebben a pénznemben nem lehet fizetni. Adjon meg másik kódot, például: EUR.
proceed = Tovább

## Card form

card-details = Kártyaadatok
form-error = Javítsa ki a megjelölt mezőket.
card-number = Kártyaszám
card-number-error = Adja meg a kártyaszámot (12–19 számjegy).
expiry-date = Lejárat
expiry-date-format = HH / ÉÉ
expiry-date-malformed = Adja meg a kártyán szereplő hónapot és évet, például: 08/29.
expiry-date-past = A kártya lejárt. Ellenőrizze a dátumot, vagy használjon másik kártyát.
security-code = Biztonsági kód
security-code-hint = 3 vagy 4 számjegy a kártyán
security-code-error = Adja meg a biztonsági kód 3 vagy 4 számjegyét.
needs-script = Az itteni fizetéshez kapcsolja be a JavaScriptet, és töltse be újra az oldalt.
card-saved = Kártyáját elmentjük az ebben az üzletben történő későbbi fizetésekhez.
pay = { $amount } fizetése

## Payment in progress

processing = A fizetés feldolgozás alatt áll
processing-hint = Ez az oldal automatikusan frissül. Kérjük, ne fizessen újra.
check-again = Ellenőrzés újra
confirm-payment = Hagyja jóvá a fizetést
simulated-bank = Bankszimuláció teszteléshez
confirm-card = A bankja kérdezi: Ön fizet azzal a kártyával, amelynek utolsó számjegyei: { $last4 }?
confirm = Jóváhagyás
cancel = Mégse

## Result

payment-successful = Sikeres fizetés
payment-successful-hint = Bezárhatja ezt az oldalt.
transaction = Tranzakció
shop = Kereskedő
date = Dátum
card = Kártya
reference = Hivatkozás
payment-failed = Sikertelen fizetés
declined-details = A bank nem fogadta el a kártya adatait. Ellenőrizze az adatokat, és próbálja újra.
declined-expired = A kártya lejárt. Próbáljon meg egy másikat.
declined-funds = Nincs elegendő fedezet a számlán, vagy a vásárlás túllépi a kártya limitjét. Próbáljon meg egy másik kártyát.
declined-bank = A bank elutasította a fizetést. Próbáljon meg egy másik kártyát, vagy forduljon a bankjához.
declined-again = Hiba történt, de nem vontunk le semmit. Kérjük, próbálja újra.
declined-unsupported = Ezt a kártyát nem fogadjuk el. Próbáljon meg egy másikat.
declined-unconfirmed = A fizetést nem hagyták jóvá a bankjánál.
declined-shop = Az üzlet nem tudja fogadni ezt a fizetést. Kérjük, forduljon az üzlethez.
try-again = Próbálja újra
back-to-shop = Vissza az üzlethez

## Problems

link-broken = Ez a fizetési link nem működik
link-broken-hint = Kérjen újat az üzlettől.
link-used = Ezt a linket már felhasználták
link-expired = Ez a fizetési link lejárt
form-expired = Ez az oldal túl régi
form-expired-hint = Nem terheltük meg a kártyáját, és semmit sem őriztünk meg abból, amit megadott.
unavailable = A fizetés jelenleg nem lehetséges
unavailable-hint = Próbálja újra néhány perc múlva. Az összeget nem vonjuk le kétszer.
too-many-attempts = Túl sok próbálkozás
too-many-attempts-hint = Várjon néhány percet, majd próbálja újra. Nem vontunk le semmit.

## Invitation e-mail

invitation-subject = Meghívó: { $merchant }
invitation-greeting = Tisztelt Címzett!
invitation-by-app = A(z) { $app } alkalmazás meghívta Önt, hogy segítsen a(z) { $merchant } fizetéseinek kezelésében.
invitation = Meghívást kapott, hogy segítsen a(z) { $merchant } fizetéseinek kezelésében.
invitation-more = További részleteket attól tudhat meg, aki meghívta.
invitation-unexpected = Ha nem számított erre az üzenetre, figyelmen kívül hagyhatja.
