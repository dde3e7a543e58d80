### Slovak

## Every page

payment-to-shop = Platba pre { $shop }
test-payment = Toto je test: žiadne peniaze nebudú odpísané.
contact = Otázky k objednávke
terms = Obchodné podmienky
privacy = Ochrana osobných údajov
accessibility = Prístupnosť

## Amount form

amount = Suma
amount-error =
    { $decimals ->
        [0] Zadajte sumu číslicami, bez desatinných miest.
        [one] Zadajte sumu číslicami, najviac na { $decimals } desatinné miesto.
        [few] Zadajte sumu číslicami, najviac na { $decimals } desatinné miesta.
       *[other] Zadajte sumu číslicami, najviac na { $decimals } desatinných miest.
    }
currency = Mena
currency-error = Zadajte trojpísmenový kód meny, napríklad EUR.
currency-unknown = V tejto mene nie je možné platiť. Zadajte iný kód, napríklad EUR.
proceed = Pokračovať

## Card form

card-details = Údaje o karte
form-error = Opravte označené polia.
card-number = Číslo karty
card-number-error = Zadajte číslo karty, 12 až 19 číslic.
card-number-typo = Skontrolujte číslo karty: niektorá číslica je nesprávna.
accepted-cards = Prijímané karty
expiry-date = Platnosť do
expiry-date-malformed = Zadajte mesiac a rok uvedené na karte, napríklad 08/29.
expiry-date-past = Platnosť karty sa skončila. Skontrolujte dátum alebo použite inú kartu.
security-code = Bezpečnostný kód
security-code-hint = 3 alebo 4 číslice na karte
security-code-error = Zadajte 3 alebo 4 číslice bezpečnostného kódu.
security-code-back = Zadajte 3 číslice na zadnej strane karty.
security-code-front = Zadajte 4 číslice na prednej strane karty.
needs-script = Ak chcete zaplatiť tu, zapnite JavaScript a znova načítajte stránku.
card-saved = Vaša karta bude uložená na budúce platby tomuto obchodu.
receipt-email = E-mail na zaslanie potvrdenia (nepovinné)
pay = Zaplatiť { $amount }

## Payment in progress

processing = Vaša platba sa spracúva
processing-hint = Táto stránka sa obnovuje automaticky. Neplaťte znova.
check-again = Skontrolovať znova
confirm-payment = Potvrďte platbu
simulated-bank = Simulácia banky na testovanie
confirm-card = Vaša banka sa pýta: Vykonávate túto platbu kartou, ktorej číslo sa končí na { $last4 }?
confirm = Potvrdiť
cancel = Zrušiť

## Result

payment-successful = Platba prebehla úspešne
payment-successful-hint = Túto stránku môžete zavrieť.
transaction = Transakcia
shop = Obchod
date = Dátum
card = Karta
reference = Referencia
receipt = Potvrdenie o platbe
payment-failed = Platba zlyhala
declined-details = Banka neprijala údaje karty. Skontrolujte ich a skúste to znova.
declined-expired = Platnosť karty sa skončila. Skúste inú kartu.
declined-funds = Na účte nie je dosť peňazí alebo je prekročený limit karty. Skúste inú kartu.
declined-bank = Banka platbu zamietla. Skúste inú kartu alebo sa obráťte na svoju banku.
declined-again = Nastala chyba, ale nič nebolo odpísané. Skúste to znova.
declined-unsupported = Táto karta nie je podporovaná. Skúste inú.
declined-unconfirmed = Platba nebola vo vašej banke potvrdená.
declined-shop = Obchod túto platbu nemôže prijať. Obráťte sa na obchod.
try-again = Skúsiť znova
back-to-shop = Späť do obchodu

## Problems

link-broken = Tento platobný odkaz nefunguje
link-broken-hint = Požiadajte obchod o nový.
link-used = Tento odkaz už bol použitý
link-expired = Platnosť tohto platobného odkazu vypršala
form-expired = Táto stránka je príliš stará
form-expired-hint = Nič sme vám nestrhli a zadané údaje sme neuložili.
unavailable = Platba momentálne nie je možná
unavailable-hint = Skúste to znova o niekoľko minút. Peniaze nebudú odpísané dvakrát.
too-many-attempts = Príliš veľa pokusov
too-many-attempts-hint = Počkajte niekoľko minút a skúste to znova. Nič nebolo odpísané.

## Invitation e-mail

invitation-subject = Pozvánka: { $merchant }
invitation-greeting = Dobrý deň,
invitation-by-app = aplikácia { $app } vás pozýva pomáhať so správou platieb obchodu { $merchant }.
invitation = pozývame vás pomáhať so správou platieb obchodu { $merchant }.
invitation-more = Viac vám povie ten, kto vás pozval.
invitation-unexpected = Ak ste túto správu neočakávali, môžete ju ignorovať.

## Mails of the desk

invitation-link = Ak chcete prijať pozvánku a prihlásiť sa, otvorte do 72 hodín túto stránku:
sign-in-subject = Váš odkaz na prihlásenie
sign-in-mail = otvorte túto stránku do 15 minút v prehliadači, v ktorom ste o odkaz požiadali:
sign-in-unexpected = Ak ste o tento odkaz nežiadali, môžete túto správu ignorovať. Bez odkazu sa nikto nemôže prihlásiť.
receipt-mail = zaplatili ste { $amount } obchodu { $merchant }. Tento odkaz 18 mesiacov zobrazuje potvrdenie o platbe aj neskoršie vrátenia peňazí:
dispute-subject = Spor o platbu obchodu { $merchant }
dispute-mail = Zákazník namieta { $amount } z platby obchodu { $merchant }. Odpovedať možno do { $day }.
payout-subject = Výplata pre { $merchant }
payout-mail = { $amount } je na ceste na bankový účet obchodu { $merchant }.
return-subject = Výplata pre { $merchant } sa vrátila
return-mail = Banka vrátila { $amount }, ktoré boli vyplatené obchodu { $merchant }. Ďalšie výplaty čakajú, kým nebude bankový účet správny.
webhook-subject = Webhook obchodu { $merchant } je vypnutý
webhook-mail = Webhook aplikácie obchodu { $merchant } je vypnutý, pretože jeho doručenia zlyhali. Aplikácia sa už o platbách nedozvie.
more-at-desk = Viac nájdete v administrácii, kde si tiež zvolíte, ktoré správy dostávate:

## Desk: sign in

sign-in = Prihlásiť sa
email-address = E-mailová adresa
email-address-hint = Pošleme vám odkaz na prihlásenie.
email-address-error = Zadajte svoju e-mailovú adresu, napríklad ann@shop.example.
send-link = Poslať odkaz
check-mail = Skontrolujte si e-mail
check-mail-hint = Ak adresa { $email } patrí používateľovi, poslali sme odkaz. Otvorte ho do 15 minút v tomto prehliadači.
sign-in-as = Prihlasujete sa ako { $email }.
sign-in-broken = Tento odkaz nefunguje
sign-in-broken-hint = Už bol použitý, je príliš starý alebo patrí k inému prehliadaču.
new-link = Požiadať o nový odkaz
wait-hint = Počkajte niekoľko minút a skúste to znova.
desk-unavailable = Táto stránka momentálne nie je dostupná

## Desk: every page

merchants = Obchody
test-mark = Test
sign-out = Odhlásiť sa
foreign-form = Tento formulár odoslala iná webová stránka
foreign-form-hint = Nič sa nevykonalo. Vráťte sa späť a odošlite formulár znova.
not-found = Táto stránka neexistuje
merchant-held = Pozastavené: { $reason }
not-approved = Tento obchod neprijíma platby, kým ho prevádzkovateľ neschváli

## Desk: payments

payments = Platby
search = Hľadať
more-filters = Ďalšie filtre
last-four = Posledné štyri číslice karty
last-four-error = Zadajte štyri číslice.
from-day = Od
to-day = Do
day-error = Zadajte dátum, napríklad 2026-11-28.
state = Stav
all-states = Všetky stavy
nothing-found = Nenašli sa žiadne platby.
download-csv = Stiahnuť CSV
older-payments = Staršie platby
newest-payments = Najnovšie platby
all-merchants = Všetky obchody
balance = Zostatok
authorized = Autorizovaná
captured = Strhnutá
partly-captured = Čiastočne strhnutá
refunded = Vrátená
partly-refunded = Čiastočne vrátená
voided = Zrušená
disputed = Sporná
failed = Neúspešná
dispute-won = Vyhratý spor
dispute-lost = Prehratý spor
evidence-submitted = Dôkazy odoslané
dispute-accepted = Strata prijatá
history = História
fees = Poplatky

## Desk: capture, refund and release

capture = Stiahnuť
refund = Vrátiť
release = Uvoľniť
at-most = Najviac { $amount }
available = K dispozícii
left-afterwards = Potom zostáva
changed-meanwhile = Platba sa medzitým zmenila. Skontrolujte sumu.
movement-refused = To už nie je možné alebo nie s touto sumou.

## Desk: mails

mails = E-maily
mails-hint = Ktoré e-maily o tomto obchode chcete dostávať?
mail-dispute = Zákazník namieta platbu
mail-payout = Zostatok je vyplatený
mail-return = Výplata sa vrátila
mail-webhook = Webhook je vypnutý
save = Uložiť
saved = Uložené

## Desk: account

account = Účet
authenticator = Overovacia aplikácia
authenticator-works = Vaša overovacia aplikácia je nastavená.
authenticator-missing = Skôr než budete presúvať peniaze alebo meniť kľúče, potrebujete kód z overovacej aplikácie v telefóne alebo počítači.
set-up-authenticator = Nastaviť overovaciu aplikáciu
remove-authenticator = Odstrániť overovaciu aplikáciu
scan-code = Naskenujte tento kód aplikáciou.
qr-code = QR kód
type-secret = Alebo do aplikácie zadajte tento kľúč:
enter-code = Zadajte kód
code = Kód
code-hint = Šesť číslic z overovacej aplikácie alebo záložný kód.
first-code-hint = Šesť číslic, ktoré aplikácia zobrazuje.
code-error = Tento kód nefunguje. Zadajte ďalší.
code-locked = Príliš veľa nesprávnych kódov. Počkajte 15 minút a skúste to znova.
recovery-codes = Záložné kódy
recovery-codes-hint = Ak o aplikáciu prídete, zadajte jeden z týchto kódov. Každý platí len raz. Hneď si ich uložte na bezpečné miesto: táto stránka ich znova nezobrazí.
recovery-codes-left = Zostávajúce záložné kódy: { $count }
new-recovery-codes = Vytvoriť nové záložné kódy
sessions = Kde ste prihlásení
session-began = Prihlásenie: { $time }
session-used = Posledné použitie: { $time }
this-session = Tento prehliadač
end-sessions = Odhlásiť vo všetkých ostatných prehliadačoch

## Desk: balance and disputes

payouts = Výplaty
all-payouts = Všetky výplaty
payout = Výplata
payout-returned = Vrátená výplata
paid-out = Vyplatené
month = Mesiac
next-page = Ďalšia stránka
first-page = Prvá stránka
nothing-yet = Zatiaľ nič
disputes = Spory
open-disputes = Otvorené spory
decided-disputes = Rozhodnuté spory
days-left = Zostáva dní: { $days }
inquiry = Dopyt
evidence = Dôkazy
evidence-text = Vaše vysvetlenie
evidence-files = Súbory
evidence-hint = Najviac 5 súborov PDF, PNG alebo JPEG, spolu 4,5 MB, a 20 000 znakov. Nové súbory nahradia uložené.
submit-evidence = Odoslať dôkazy
submit-evidence-hint = Odoslať môžete len raz. Potom rozhodne banka zákazníka.
accept-dispute = Prijať stratu
accept-dispute-hint = Peniaze zostanú zákazníkovi. Nedá sa to vrátiť.

## Desk: overview

overview = Prehľad
next-payout = Čaká na ďalšiu výplatu
payouts-held = Výplaty sú pozastavené
refused-captures = Odmietnuté spracovateľom kariet za posledných 30 dní
disabled-webhooks = Vypnuté webhooky
last-days = Stiahnuté bez vrátených súm, posledných 30 dní
days-in-utc = Dni sú v UTC
as-table = Ako tabuľka
day = Deň

## Desk: people

people = Ľudia
member-since = Členom od { $time }
invited = Pozvaný
invited-until = Pozvaný: odkaz funguje do { $time }
invitation-expired = Platnosť pozvánky uplynula
invite = Pozvať
invite-hint = Osoba dostane e-mailom odkaz, ktorý funguje 72 hodín, a potom tu môže robiť všetko.
invite-again = Pozvať znova
remove = Odobrať { $name }?
remove-hint = Prístup k tomuto obchodu sa ihneď končí.
remove-yourself = Odobrať seba?
remove-button = Odobrať
last-member = Posledného člena nemožno odobrať. Najprv niekoho pozvite.
apps = Aplikácie

## Desk: developers

developers = Vývojári
foreign-app = Táto aplikácia pracuje aj pre obchody, ktorých členom nie ste, preto nemôžete spravovať jej kľúče a webhooky.
api-keys = Kľúče API
created-on = Vytvorený { $time }
last-used = Naposledy použitý { $time }
never-used = Nikdy nepoužitý
key-name = Názov kľúča
create-key = Vytvoriť kľúč
key-created = Kľúč API vytvorený
too-many-keys = Táto aplikácia má 20 kľúčov, čo je maximum. Najprv jeden odoberte.
last-key = Posledný kľúč nemožno odobrať. Najprv vytvorte iný.
remove-key-hint = Programy s týmto kľúčom budú ihneď odmietané.
secret-once = Zobrazí sa iba teraz. Skopírujte si ho na bezpečné miesto.
secret-shown = Bol zobrazený raz a znova ho zobraziť nemožno.
webhooks = Webhooky
create-webhook = Vytvoriť webhook
webhook-url = Adresa (URL)
webhook-url-error = Zadajte adresu, ktorá sa začína https:// a je dostupná z internetu.
event-types = Udalosti
event-types-hint = Bez výberu sa posielajú všetky udalosti.
too-many-webhooks = Táto aplikácia má 20 webhookov, čo je maximum. Najprv jeden odoberte.
enabled = Zapnutý
disabled = Vypnutý
disabled-failures = Vypnutý, lebo doručovanie päť dní zlyhávalo
disabled-gone = Vypnutý, lebo príjemca už udalosti nechce
send-test = Odoslať test
new-secret = Nový tajný kľúč
send-again = Poslať udalosti znova
new-secret-hint = Počas 24 hodín podpisuje aj starý tajný kľúč.
send-again-hint = Všetky udalosti od začiatku tohto dňa sa pošlú znova.
remove-webhook-hint = Na túto adresu sa už nič neposiela.
deliveries = Doručenia
delivered = Doručené
next-attempt = Ďalší pokus { $time }

## Desk: payment links

payment-links = Platobné odkazy
link-text = Text pre zákazníka
link-text-error = Použite menej znakov a iba písmená, číslice a interpunkciu.
link-once = Možno zaplatiť iba raz
link-language = Jazyk stránky
link-language-browser = Ako v prehliadači zákazníka
link-unsigned = Tento obchod nemá kľúč pre odkazy, preto odkazy nie sú podpísané: zákazníci môžu zmeniť sumu.
make-link = Vytvoriť odkaz
payment-link = Platobný odkaz

## Desk: log

log = Záznamy
operator = Prevádzkovateľ
acquirer = Spracovateľ
automatically = Automaticky
fraud-reported = Podozrenie na podvod
acquirer-refused = Odmietnuté spracovateľom
merchant-released = Už nie je pozastavené
bank-changed = Bankový účet zmenený
invited-again = Pozvaný znova
invitation-accepted = Pozvánka prijatá
member-removed = Člen odobraný
app-added = Aplikácia pridaná
app-removed = Aplikácia odobraná
key-removed = Kľúč API odobraný
webhook-created = Webhook vytvorený
webhook-changed = Webhook zmenený
webhook-removed = Webhook odobraný
