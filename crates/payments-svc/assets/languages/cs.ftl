### Czech

## Every page

payment-to-shop = Platba pro { $shop }
test-payment = Toto je test: žádné peníze nebudou strženy.
contact = Dotazy k objednávce
terms = Obchodní podmínky
privacy = Ochrana osobních údajů
accessibility = Přístupnost

## Amount form

amount = Částka
amount-error =
    { $decimals ->
        [0] Zadejte částku číslicemi, bez desetinných míst.
        [one] Zadejte částku číslicemi, nejvýše na { $decimals } desetinné místo.
        [few] Zadejte částku číslicemi, nejvýše na { $decimals } desetinná místa.
       *[other] Zadejte částku číslicemi, nejvýše na { $decimals } desetinných míst.
    }
currency = Měna
currency-error = Zadejte třípísmenný kód měny, například EUR.
currency-unknown = V této měně nelze platit. Zadejte jiný kód, například EUR.
proceed = Pokračovat

## Card form

card-details = Údaje o kartě
form-error = Opravte označená pole.
card-number = Číslo karty
card-number-error = Zadejte číslo karty, 12 až 19 číslic.
card-number-typo = Zkontrolujte číslo karty: některá číslice je chybná.
accepted-cards = Přijímané karty
expiry-date = Platnost do
expiry-date-malformed = Zadejte měsíc a rok uvedené na kartě, například 08/29.
expiry-date-past = Platnost karty vypršela. Zkontrolujte datum nebo použijte jinou kartu.
security-code = Bezpečnostní kód
security-code-hint = 3 nebo 4 číslice na kartě
security-code-error = Zadejte 3 nebo 4 číslice bezpečnostního kódu.
security-code-back = Zadejte 3 číslice na zadní straně karty.
security-code-front = Zadejte 4 číslice na přední straně karty.
needs-script = Chcete-li zde zaplatit, zapněte JavaScript a načtěte stránku znovu.
card-saved = Vaše karta bude uložena pro budoucí platby tomuto obchodu.
receipt-email = E-mail pro zaslání potvrzení (nepovinné)
pay = Zaplatit { $amount }

## Payment in progress

processing = Vaše platba se zpracovává
processing-hint = Tato stránka se obnovuje automaticky. Neplaťte znovu.
check-again = Zkontrolovat znovu
confirm-payment = Potvrďte platbu
simulated-bank = Simulace banky pro testy
confirm-card = Vaše banka se ptá: Provádíte tuto platbu kartou, jejíž číslo končí na { $last4 }?
confirm = Potvrdit
cancel = Zrušit

## Result

payment-successful = Platba proběhla úspěšně
payment-successful-hint = Tuto stránku můžete zavřít.
transaction = Transakce
shop = Obchod
date = Datum
card = Karta
reference = Reference
receipt = Potvrzení o platbě
payment-failed = Platba se nezdařila
declined-details = Banka nepřijala údaje karty. Zkontrolujte je a zkuste to znovu.
declined-expired = Platnost karty vypršela. Zkuste jinou kartu.
declined-funds = Na účtu není dostatek peněz nebo je překročen limit karty. Zkuste jinou kartu.
declined-bank = Banka platbu zamítla. Zkuste jinou kartu nebo se obraťte na svou banku.
declined-again = Došlo k chybě, ale nic nebylo strženo. Zkuste to prosím znovu.
declined-unsupported = Tato karta není podporována. Zkuste jinou.
declined-unconfirmed = Platba nebyla u vaší banky potvrzena.
declined-shop = Obchod tuto platbu nemůže přijmout. Obraťte se na obchod.
try-again = Zkusit znovu
back-to-shop = Zpět do obchodu

## Problems

link-broken = Tento platební odkaz nefunguje
link-broken-hint = Požádejte obchod o nový.
link-used = Tento odkaz už byl použit
link-expired = Platnost tohoto platebního odkazu vypršela
form-expired = Tato stránka je příliš stará
form-expired-hint = Nic jsme vám nestrhli a zadané údaje jsme neuložili.
unavailable = Platba momentálně není možná
unavailable-hint = Zkuste to znovu za několik minut. Peníze nebudou strženy dvakrát.
too-many-attempts = Příliš mnoho pokusů
too-many-attempts-hint = Počkejte několik minut a zkuste to znovu. Nic nebylo strženo.

## Invitation e-mail

invitation-subject = Pozvánka: { $merchant }
invitation-greeting = Dobrý den,
invitation-by-app = aplikace { $app } vás zve ke správě plateb obchodu { $merchant }.
invitation = zveme vás ke správě plateb obchodu { $merchant }.
invitation-more = Více vám řekne ten, kdo vás pozval.
invitation-unexpected = Pokud jste tuto zprávu nečekali, můžete ji ignorovat.

## Mails of the desk

invitation-link = Chcete-li přijmout pozvánku a přihlásit se, otevřete do 72 hodin tuto stránku:
sign-in-subject = Váš odkaz pro přihlášení
sign-in-mail = otevřete tuto stránku do 15 minut v prohlížeči, ve kterém jste o odkaz požádali:
sign-in-unexpected = Pokud jste o tento odkaz nežádali, můžete tuto zprávu ignorovat. Bez odkazu se nikdo nemůže přihlásit.
receipt-mail = zaplatili jste { $amount } obchodu { $merchant }. Tento odkaz po dobu 18 měsíců zobrazuje potvrzení o platbě i pozdější vrácení peněz:
dispute-subject = Spor o platbu obchodu { $merchant }
dispute-mail = Zákazník rozporuje { $amount } z platby obchodu { $merchant }. Odpovědět lze do { $day }.
payout-subject = Výplata pro { $merchant }
payout-mail = { $amount } je na cestě na bankovní účet obchodu { $merchant }.
return-subject = Výplata pro { $merchant } se vrátila
return-mail = Banka vrátila { $amount }, které byly vyplaceny obchodu { $merchant }. Další výplaty čekají, dokud nebude bankovní účet správný.
webhook-subject = Webhook obchodu { $merchant } je vypnutý
webhook-mail = Webhook aplikace obchodu { $merchant } je vypnutý, protože jeho doručení selhala. Aplikace se už o platbách nedozví.
more-at-desk = Více najdete v administraci, kde si také zvolíte, které zprávy dostáváte:

## Desk: sign in

sign-in = Přihlásit se
email-address = E-mailová adresa
email-address-hint = Pošleme vám odkaz pro přihlášení.
email-address-error = Zadejte svou e-mailovou adresu, například ann@shop.example.
send-link = Poslat odkaz
check-mail = Zkontrolujte si e-mail
check-mail-hint = Pokud adresa { $email } patří uživateli, poslali jsme odkaz. Otevřete ho do 15 minut v tomto prohlížeči.
sign-in-as = Přihlašujete se jako { $email }.
sign-in-broken = Tento odkaz nefunguje
sign-in-broken-hint = Už byl použit, je příliš starý nebo patří k jinému prohlížeči.
new-link = Požádat o nový odkaz
wait-hint = Počkejte několik minut a zkuste to znovu.
desk-unavailable = Tato stránka momentálně není dostupná

## Desk: every page

merchants = Obchody
test-mark = Test
sign-out = Odhlásit se
foreign-form = Tento formulář odeslal jiný web
foreign-form-hint = Nic se neprovedlo. Vraťte se zpět a odešlete formulář znovu.
not-found = Tato stránka neexistuje
merchant-held = Pozastaveno: { $reason }
not-approved = Tento obchod nepřijímá platby, dokud ho provozovatel neschválí

## Desk: payments

payments = Platby
search = Hledat
more-filters = Další filtry
last-four = Poslední čtyři číslice karty
last-four-error = Zadejte čtyři číslice.
from-day = Od
to-day = Do
day-error = Zadejte datum, například 2026-11-28.
state = Stav
all-states = Všechny stavy
nothing-found = Nebyly nalezeny žádné platby.
download-csv = Stáhnout CSV
older-payments = Starší platby
newest-payments = Nejnovější platby
all-merchants = Všechny obchody
balance = Zůstatek
authorized = Autorizovaná
captured = Stržená
partly-captured = Částečně stržená
refunded = Vrácená
partly-refunded = Částečně vrácená
voided = Zrušená
disputed = Sporná
failed = Neúspěšná
dispute-won = Vyhraný spor
dispute-lost = Prohraný spor
evidence-submitted = Důkazy odeslány
dispute-accepted = Ztráta přijata
history = Historie
fees = Poplatky

## Desk: capture, refund and release

capture = Strhnout
refund = Vrátit
release = Uvolnit
at-most = Nejvýše { $amount }
available = K dispozici
left-afterwards = Poté zbývá
changed-meanwhile = Platba se mezitím změnila. Zkontrolujte částku.
movement-refused = To už není možné, nebo ne s touto částkou.

## Desk: mails

mails = E-maily
mails-hint = Které e-maily o tomto obchodu chcete dostávat?
mail-dispute = Zákazník rozporuje platbu
mail-payout = Zůstatek byl vyplacen
mail-return = Výplata se vrátila
mail-webhook = Webhook je vypnutý
save = Uložit
saved = Uloženo

## Desk: account

account = Účet
authenticator = Ověřovací aplikace
authenticator-works = Vaše ověřovací aplikace je nastavená.
authenticator-missing = Než budete převádět peníze nebo měnit klíče, potřebujete kód z ověřovací aplikace v telefonu nebo počítači.
set-up-authenticator = Nastavit ověřovací aplikaci
remove-authenticator = Odebrat ověřovací aplikaci
scan-code = Naskenujte tento kód aplikací.
qr-code = QR kód
type-secret = Nebo do aplikace zadejte tento klíč:
enter-code = Zadejte kód
code = Kód
code-hint = Šest číslic z ověřovací aplikace nebo záložní kód.
first-code-hint = Šest číslic, které aplikace zobrazuje.
code-error = Tento kód nefunguje. Zadejte další.
code-locked = Příliš mnoho chybných kódů. Počkejte 15 minut a zkuste to znovu.
recovery-codes = Záložní kódy
recovery-codes-hint = Pokud o aplikaci přijdete, zadejte jeden z těchto kódů. Každý platí jen jednou. Hned si je uložte na bezpečné místo: tato stránka je znovu nezobrazí.
recovery-codes-left = Zbývající záložní kódy: { $count }
new-recovery-codes = Vytvořit nové záložní kódy
sessions = Kde jste přihlášeni
session-began = Přihlášení: { $time }
session-used = Poslední použití: { $time }
this-session = Tento prohlížeč
end-sessions = Odhlásit ve všech ostatních prohlížečích

## Desk: balance and disputes

payouts = Výplaty
all-payouts = Všechny výplaty
payout = Výplata
payout-returned = Vrácená výplata
paid-out = Vyplaceno
month = Měsíc
next-page = Další stránka
first-page = První stránka
nothing-yet = Zatím nic
disputes = Spory
open-disputes = Otevřené spory
decided-disputes = Rozhodnuté spory
days-left = Zbývá dní: { $days }
inquiry = Dotaz
evidence = Důkazy
evidence-text = Vaše vysvětlení
evidence-files = Soubory
evidence-hint = Nejvýše 5 souborů PDF, PNG nebo JPEG, celkem 4,5 MB, a 20 000 znaků. Nové soubory nahradí uložené.
submit-evidence = Odeslat důkazy
submit-evidence-hint = Odeslat můžete jen jednou. Pak rozhodne banka zákazníka.
accept-dispute = Přijmout ztrátu
accept-dispute-hint = Zákazník si peníze ponechá. Nelze to vrátit.

## Desk: overview

overview = Přehled
next-payout = Čeká na příští výplatu
payouts-held = Výplaty jsou pozastaveny
refused-captures = Odmítnuto zpracovatelem karet za posledních 30 dní
disabled-webhooks = Vypnuté webhooky
last-days = Strženo bez vrácených částek, posledních 30 dní
days-in-utc = Dny jsou v UTC
as-table = Jako tabulka
day = Den

## Desk: people

people = Lidé
member-since = Členem od { $time }
invited = Pozván
invited-until = Pozván: odkaz funguje do { $time }
invitation-expired = Platnost pozvánky vypršela
invite = Pozvat
invite-hint = Osoba dostane e-mailem odkaz, který funguje 72 hodin, a pak zde může dělat vše.
invite-again = Pozvat znovu
remove = Odebrat { $name }?
remove-hint = Přístup k tomuto obchodu ihned končí.
remove-yourself = Odebrat sebe?
remove-button = Odebrat
last-member = Posledního člena nelze odebrat. Nejprve někoho pozvěte.
apps = Aplikace

## Desk: developers

developers = Vývojáři
foreign-app = Tato aplikace pracuje i pro obchody, jejichž členem nejste, proto nemůžete spravovat její klíče a webhooky.
api-keys = Klíče API
created-on = Vytvořen { $time }
last-used = Naposledy použit { $time }
never-used = Nikdy nepoužit
key-name = Název klíče
create-key = Vytvořit klíč
key-created = Klíč API vytvořen
too-many-keys = Tato aplikace má 20 klíčů, což je maximum. Nejprve jeden odeberte.
last-key = Poslední klíč nelze odebrat. Nejprve vytvořte jiný.
remove-key-hint = Programy s tímto klíčem budou ihned odmítány.
secret-once = Zobrazí se jen nyní. Zkopírujte si ho na bezpečné místo.
secret-shown = Byl zobrazen jednou a znovu ho zobrazit nelze.
webhooks = Webhooky
create-webhook = Vytvořit webhook
webhook-url = Adresa (URL)
webhook-url-error = Zadejte adresu, která začíná https:// a je dostupná z internetu.
event-types = Události
event-types-hint = Bez výběru se posílají všechny události.
too-many-webhooks = Tato aplikace má 20 webhooků, což je maximum. Nejprve jeden odeberte.
enabled = Zapnutý
disabled = Vypnutý
disabled-failures = Vypnutý, protože doručování pět dní selhávalo
disabled-gone = Vypnutý, protože příjemce už události nechce
send-test = Odeslat test
new-secret = Nový tajný klíč
send-again = Poslat události znovu
new-secret-hint = Po dobu 24 hodin podepisuje i starý tajný klíč.
send-again-hint = Všechny události od začátku tohoto dne se pošlou znovu.
remove-webhook-hint = Na tuto adresu se už nic neposílá.
deliveries = Doručení
delivered = Doručeno
next-attempt = Další pokus { $time }

## Desk: payment links

payment-links = Platební odkazy
link-text = Text pro zákazníka
link-text-error = Použijte méně znaků a jen písmena, číslice a interpunkci.
link-once = Lze zaplatit jen jednou
link-language = Jazyk stránky
link-language-browser = Jako v prohlížeči zákazníka
link-unsigned = Tento obchod nemá klíč pro odkazy, proto odkazy nejsou podepsané: zákazníci mohou změnit částku.
make-link = Vytvořit odkaz
payment-link = Platební odkaz

## Desk: log

log = Záznamy
operator = Provozovatel
acquirer = Zpracovatel
automatically = Automaticky
fraud-reported = Podezření na podvod
acquirer-refused = Odmítnuto zpracovatelem
merchant-released = Již není pozastaveno
bank-changed = Bankovní účet změněn
invited-again = Pozván znovu
invitation-accepted = Pozvánka přijata
member-removed = Člen odebrán
app-added = Aplikace přidána
app-removed = Aplikace odebrána
key-removed = Klíč API odebrán
webhook-created = Webhook vytvořen
webhook-changed = Webhook změněn
webhook-removed = Webhook odebrán
