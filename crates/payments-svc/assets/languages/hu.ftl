### Hungarian

## Every page

payment-to-shop = Fizetés: { $shop }
test-payment = Ez egy teszt, nem történik pénzmozgás.
contact = Kérdések a rendeléséről
terms = Általános szerződési feltételek
privacy = Adatkezelési tájékoztató
accessibility = Akadálymentesség

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
card-number-typo = Ellenőrizze a kártyaszámot: az egyik számjegy hibás.
accepted-cards = Elfogadott kártyák
expiry-date = Lejárat
expiry-date-malformed = Adja meg a kártyán szereplő hónapot és évet, például: 08/29.
expiry-date-past = A kártya lejárt. Ellenőrizze a dátumot, vagy használjon másik kártyát.
security-code = Biztonsági kód
security-code-hint = 3 vagy 4 számjegy a kártyán
security-code-error = Adja meg a biztonsági kód 3 vagy 4 számjegyét.
security-code-back = Adja meg a kártya hátoldalán lévő 3 számjegyet.
security-code-front = Adja meg a kártya előlapján lévő 4 számjegyet.
needs-script = Az itteni fizetéshez kapcsolja be a JavaScriptet, és töltse be újra az oldalt.
card-saved = Kártyáját elmentjük az ebben az üzletben történő későbbi fizetésekhez.
receipt-email = E-mail-cím a bizonylathoz (nem kötelező)
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
receipt = Bizonylat
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

## Mails of the desk

invitation-link = A meghívó elfogadásához és a bejelentkezéshez nyissa meg ezt az oldalt 72 órán belül:
sign-in-subject = Az Ön bejelentkezési linkje
sign-in-mail = Nyissa meg ezt az oldalt 15 percen belül abban a böngészőben, amelyikben a linket kérte:
sign-in-unexpected = Ha nem Ön kérte ezt a linket, ezt az üzenetet figyelmen kívül hagyhatja. A link nélkül senki sem tud bejelentkezni.
receipt-mail = { $amount } összeget fizetett a következőnek: { $merchant }. Ez a link 18 hónapig megmutatja a bizonylatot és a későbbi visszatérítéseket:
dispute-subject = Vitatott fizetés: { $merchant }
dispute-mail = Egy vásárló vitatja { $merchant } egyik fizetéséből ezt az összeget: { $amount }. Eddig lehet válaszolni: { $day }.
payout-subject = Kifizetés: { $merchant }
payout-mail = { $amount } úton van { $merchant } bankszámlájára.
return-subject = Visszajött egy kifizetés: { $merchant }
return-mail = A bank visszaküldte a(z) { $merchant } részére kifizetett összeget: { $amount }. A további kifizetések várnak, amíg a bankszámla helyes nem lesz.
webhook-subject = Letiltott webhook: { $merchant }
webhook-mail = { $merchant } egyik alkalmazásának webhookja le van tiltva, mert a kézbesítései sikertelenek voltak. Az alkalmazás már nem értesül a fizetésekről.
more-at-desk = Többet a kezelőfelületen talál, ahol azt is kiválaszthatja, milyen üzeneteket kap:

## Desk: sign in

sign-in = Bejelentkezés
email-address = E-mail-cím
email-address-hint = Küldünk Önnek egy linket a bejelentkezéshez.
email-address-error = Adja meg az e-mail-címét, például: ann@shop.example.
send-link = Link küldése
check-mail = Nézze meg a postafiókját
check-mail-hint = Ha a(z) { $email } cím egy felhasználóhoz tartozik, elküldtük a linket. Nyissa meg ebben a böngészőben 15 percen belül.
sign-in-as = Ezzel a címmel jelentkezik be: { $email }.
sign-in-broken = Ez a link nem működik
sign-in-broken-hint = Már felhasználták, túl régi, vagy másik böngészőhöz tartozik.
new-link = Új link kérése
wait-hint = Várjon néhány percet, majd próbálja újra.
desk-unavailable = Ez az oldal jelenleg nem érhető el

## Desk: every page

merchants = Kereskedők
test-mark = Teszt
sign-out = Kijelentkezés
foreign-form = Ezt az űrlapot egy másik webhely küldte
foreign-form-hint = Nem történt semmi. Lépjen vissza, és küldje el újra az űrlapot.
not-found = Ez az oldal nem létezik
merchant-held = Felfüggesztve: { $reason }
not-approved = Ez az üzlet nem fogad fizetést, amíg az üzemeltető jóvá nem hagyja

## Desk: payments

payments = Fizetések
search = Keresés
more-filters = További szűrők
last-four = A kártya utolsó négy számjegye
last-four-error = Adjon meg négy számjegyet.
from-day = Kezdő dátum
to-day = Záró dátum
day-error = Adjon meg egy dátumot, például: 2026-11-28.
state = Állapot
all-states = Minden állapot
nothing-found = Nem található fizetés.
download-csv = CSV letöltése
older-payments = Régebbi fizetések
newest-payments = Legújabb fizetések
all-merchants = Összes kereskedő
balance = Egyenleg
authorized = Engedélyezve
captured = Beszedve
partly-captured = Részben beszedve
refunded = Visszatérítve
partly-refunded = Részben visszatérítve
voided = Zárolás feloldva
disputed = Vitatott
failed = Sikertelen
dispute-won = Megnyert vita
dispute-lost = Elvesztett vita
evidence-submitted = Bizonyítékok beküldve
dispute-accepted = Veszteség elfogadva
history = Előzmények
fees = Díjak

## Desk: capture, refund and release

capture = Terhelés
refund = Visszatérítés
release = Feloldás
at-most = Legfeljebb { $amount }
available = Elérhető
left-afterwards = Ezután marad
changed-meanwhile = A fizetés időközben megváltozott. Ellenőrizze az összeget.
movement-refused = Ez már nem lehetséges, vagy nem ezzel az összeggel.

## Desk: mails

mails = E-mailek
mails-hint = Milyen e-maileket szeretne erről az üzletről?
mail-dispute = Egy vásárló vitat egy fizetést
mail-payout = Az egyenleg kifizetése
mail-return = Visszajött egy kifizetés
mail-webhook = Letiltott webhook
save = Mentés
saved = Mentve

## Desk: account

account = Fiók
authenticator = Hitelesítő alkalmazás
authenticator-works = A hitelesítő alkalmazás be van állítva.
authenticator-missing = Mielőtt pénzt mozgatna vagy kulcsokat módosítana, szüksége van egy kódra a telefonján vagy számítógépén lévő hitelesítő alkalmazásból.
set-up-authenticator = Hitelesítő alkalmazás beállítása
remove-authenticator = A hitelesítő alkalmazás eltávolítása
scan-code = Olvassa be ezt a kódot az alkalmazással.
qr-code = QR-kód
type-secret = Vagy írja be ezt a kulcsot az alkalmazásba:
enter-code = Adja meg a kódot
code = Kód
code-hint = Hat számjegy a hitelesítő alkalmazásból, vagy egy helyreállítási kód.
first-code-hint = Az alkalmazásban látható hat számjegy.
code-error = Ez a kód nem működik. Adja meg a következőt.
code-locked = Túl sok hibás kód. Várjon 15 percet, majd próbálja újra.
recovery-codes = Helyreállítási kódok
recovery-codes-hint = Ha elveszíti az alkalmazást, adja meg az egyik kódot. Mindegyik egyszer használható. Most tegye őket biztonságos helyre: ez az oldal nem mutatja meg őket újra.
recovery-codes-left = Megmaradt helyreállítási kódok: { $count }
new-recovery-codes = Új helyreállítási kódok készítése
sessions = Hol van bejelentkezve
session-began = Bejelentkezés: { $time }
session-used = Utolsó használat: { $time }
this-session = Ez a böngésző
end-sessions = Kijelentkezés az összes többi böngészőből

## Desk: balance and disputes

payouts = Kifizetések
all-payouts = Minden kifizetés
payout = Kifizetés
payout-returned = Visszaérkezett kifizetés
paid-out = Kifizetve
month = Hónap
next-page = Következő oldal
first-page = Első oldal
nothing-yet = Még nincs semmi
disputes = Viták
open-disputes = Nyitott viták
decided-disputes = Lezárt viták
days-left = Hátralévő napok: { $days }
inquiry = Információkérés
evidence = Bizonyítékok
evidence-text = Az Ön magyarázata
evidence-files = Fájlok
evidence-hint = Legfeljebb 5 PDF-, PNG- vagy JPEG-fájl, összesen 4,5 MB, és 20 000 karakter. Az új fájlok felülírják a korábban mentetteket.
submit-evidence = Bizonyítékok beküldése
submit-evidence-hint = Csak egyszer küldheti be. Utána a vevő bankja dönt.
accept-dispute = Veszteség elfogadása
accept-dispute-hint = A pénz a vevőnél marad. Ez nem vonható vissza.

## Desk: overview

overview = Áttekintés
next-payout = A következő kifizetésre vár
payouts-held = A kifizetések fel vannak függesztve
refused-captures = Az elfogadó visszautasította, az elmúlt 30 nap
disabled-webhooks = Letiltott webhookok
last-days = Beszedve, visszatérítések nélkül, az elmúlt 30 nap
days-in-utc = A napok UTC szerintiek
as-table = Táblázatként
day = Nap

## Desk: people

people = Személyek
member-since = Tag { $time } óta
invited = Meghívva
invited-until = Meghívva: a link eddig működik: { $time }
invitation-expired = A meghívó lejárt
invite = Meghívás
invite-hint = A személy e-mailben kap egy linket, amely 72 óráig működik, és utána itt mindent megtehet.
invite-again = Újbóli meghívás
remove = Eltávolítja: { $name }?
remove-hint = A hozzáférés ehhez az üzlethez azonnal megszűnik.
remove-yourself = Eltávolítja saját magát?
remove-button = Eltávolítás
last-member = Az utolsó tag nem távolítható el. Előbb hívjon meg valakit.
apps = Alkalmazások

## Desk: developers

developers = Fejlesztők
foreign-app = Ez az alkalmazás olyan üzleteknek is dolgozik, amelyeknek Ön nem tagja, ezért nem kezelheti a kulcsait és webhookjait.
api-keys = API-kulcsok
created-on = Létrehozva: { $time }
last-used = Utoljára használva: { $time }
never-used = Még nem használták
key-name = A kulcs neve
create-key = Kulcs létrehozása
key-created = API-kulcs létrehozva
too-many-keys = Ennek az alkalmazásnak 20 kulcsa van, ami a maximum. Előbb távolítson el egyet.
last-key = Az utolsó kulcs nem távolítható el. Előbb hozzon létre egy másikat.
remove-key-hint = Az ezt a kulcsot használó programokat azonnal elutasítjuk.
secret-once = Csak most az egyszer látható. Másolja biztonságos helyre.
secret-shown = Egyszer látható volt, és nem jeleníthető meg újra.
webhooks = Webhookok
create-webhook = Webhook létrehozása
webhook-url = Cím (URL)
webhook-url-error = Olyan címet adjon meg, amely így kezdődik: https://, és elérhető az internetről.
event-types = Események
event-types-hint = Választás nélkül minden eseményt elküldünk.
too-many-webhooks = Ennek az alkalmazásnak 20 webhookja van, ami a maximum. Előbb távolítson el egyet.
enabled = Bekapcsolva
disabled = Kikapcsolva
disabled-failures = Kikapcsolva, mert a kézbesítések öt napig sikertelenek voltak
disabled-gone = Kikapcsolva, mert a fogadó nem kér több eseményt
send-test = Teszt küldése
new-secret = Új titkos kulcs
send-again = Események újraküldése
new-secret-hint = 24 óráig a régi titkos kulcs is aláír.
send-again-hint = A nap kezdete óta történt összes eseményt újra elküldjük.
remove-webhook-hint = Erre a címre többé nem küldünk semmit.
deliveries = Kézbesítések
delivered = Kézbesítve
next-attempt = Következő kísérlet: { $time }

## Desk: payment links

payment-links = Fizetési linkek
link-text = Szöveg az ügyfélnek
link-text-error = Használjon kevesebb karaktert, és csak betűket, számjegyeket és írásjeleket.
link-once = Csak egyszer fizethető
link-language = Az oldal nyelve
link-language-browser = Ahogy az ügyfél böngészőjében
link-unsigned = Ennek az üzletnek nincs kulcsa a linkekhez, ezért a linkek nincsenek aláírva: az ügyfelek módosíthatják az összeget.
make-link = Link létrehozása
payment-link = Fizetési link

## Desk: log

log = Napló
operator = Üzemeltető
acquirer = Elfogadó
automatically = Automatikusan
fraud-reported = Csalás gyanúja
acquirer-refused = Az elfogadó elutasította
merchant-released = Már nincs felfüggesztve
bank-changed = Bankszámla módosítva
invited-again = Újra meghívva
invitation-accepted = Meghívó elfogadva
member-removed = Tag eltávolítva
app-added = Alkalmazás hozzáadva
app-removed = Alkalmazás eltávolítva
key-removed = API-kulcs eltávolítva
webhook-created = Webhook létrehozva
webhook-changed = Webhook módosítva
webhook-removed = Webhook eltávolítva
