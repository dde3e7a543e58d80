### Swedish

## Every page

payment-to-shop = Betalning till { $shop }
test-payment = Det här är ett test: inga pengar dras.
contact = Frågor om din beställning
terms = Allmänna villkor
privacy = Integritetspolicy
accessibility = Tillgänglighet

## Amount form

amount = Belopp
amount-error =
    { $decimals ->
        [0] Ange beloppet med siffror, utan decimaler.
        [one] Ange beloppet med siffror, med högst { $decimals } decimal.
       *[other] Ange beloppet med siffror, med högst { $decimals } decimaler.
    }
currency = Valuta
currency-error = Ange en valutakod med tre bokstäver, till exempel EUR.
currency-unknown = Det går inte att betala i den här valutan. Ange en annan kod, till exempel EUR.
proceed = Fortsätt

## Card form

card-details = Kortuppgifter
form-error = Rätta de markerade fälten.
card-number = Kortnummer
card-number-error = Ange kortnumret, 12 till 19 siffror.
card-number-typo = Kontrollera kortnumret: en siffra är fel.
accepted-cards = Kort som accepteras
expiry-date = Giltigt till
expiry-date-malformed = Ange månad och år från kortet, till exempel 08/29.
expiry-date-past = Kortet har gått ut. Kontrollera datumet eller använd ett annat kort.
security-code = Säkerhetskod
security-code-hint = 3 eller 4 siffror på kortet
security-code-error = Ange säkerhetskodens 3 eller 4 siffror.
security-code-back = Ange de 3 siffrorna på kortets baksida.
security-code-front = Ange de 4 siffrorna på kortets framsida.
needs-script = Slå på JavaScript och ladda om sidan för att betala här.
card-saved = Ditt kort sparas för senare betalningar till den här butiken.
receipt-email = E-post för ditt kvitto (valfritt)
pay = Betala { $amount }

## Payment in progress

processing = Din betalning behandlas
processing-hint = Sidan uppdateras automatiskt. Betala inte igen.
check-again = Kontrollera igen
confirm-payment = Bekräfta betalningen
simulated-bank = Simulerad bank, för test
confirm-card = Din bank frågar: Gör du den här betalningen med kortet som slutar på { $last4 }?
confirm = Bekräfta
cancel = Avbryt

## Result

payment-successful = Betalningen är genomförd
payment-successful-hint = Du kan stänga sidan.
transaction = Transaktion
shop = Butik
date = Datum
card = Kort
reference = Referens
receipt = Kvitto
payment-failed = Betalningen misslyckades
declined-details = Banken godkände inte kortuppgifterna. Kontrollera dem och försök igen.
declined-expired = Kortet har gått ut. Prova ett annat.
declined-funds = Det finns inte tillräckligt med pengar på kontot, eller så har kortets gräns överskridits. Prova ett annat kort.
declined-bank = Banken nekade betalningen. Prova ett annat kort eller kontakta din bank.
declined-again = Något gick fel, men inga pengar har dragits. Försök igen.
declined-unsupported = Det här kortet accepteras inte. Prova ett annat.
declined-unconfirmed = Betalningen bekräftades inte hos din bank.
declined-shop = Butiken kan inte ta emot betalningen. Kontakta butiken.
try-again = Försök igen
back-to-shop = Tillbaka till butiken

## Problems

link-broken = Den här betalningslänken fungerar inte
link-broken-hint = Be butiken om en ny.
link-used = Länken har redan använts
link-expired = Betalningslänken har gått ut
form-expired = Den här sidan är för gammal
form-expired-hint = Du har inte debiterats och inget av det du angav har sparats.
unavailable = Det går inte att betala just nu
unavailable-hint = Försök igen om några minuter. Du debiteras inte två gånger.
too-many-attempts = För många försök
too-many-attempts-hint = Vänta några minuter och försök sedan igen. Inga pengar har dragits.

## Invitation e-mail

invitation-subject = Inbjudan till { $merchant }
invitation-greeting = Hej!
invitation-by-app = { $app } har bjudit in dig att hjälpa till att hantera betalningarna för { $merchant }.
invitation = Du har blivit inbjuden att hjälpa till att hantera betalningarna för { $merchant }.
invitation-more = Personen som bjöd in dig kan berätta mer.
invitation-unexpected = Om du inte väntade dig det här meddelandet kan du bortse från det.

## Mails of the desk

invitation-link = Öppna den här sidan inom 72 timmar för att tacka ja till inbjudan och logga in:
sign-in-subject = Din inloggningslänk
sign-in-mail = Öppna den här sidan inom 15 minuter, i den webbläsare där du bad om länken:
sign-in-unexpected = Om du inte har bett om den här länken kan du bortse från meddelandet. Ingen kan logga in utan länken.
receipt-mail = Du har betalat { $amount } till { $merchant }. Den här länken visar kvittot och senare återbetalningar i 18 månader:
dispute-subject = Bestridd betalning till { $merchant }
dispute-mail = En kund bestrider { $amount } av en betalning till { $merchant }. Den kan besvaras till och med { $day }.
payout-subject = Utbetalning till { $merchant }
payout-mail = { $amount } är på väg till bankkontot för { $merchant }.
return-subject = En utbetalning till { $merchant } kom tillbaka
return-mail = Banken skickade tillbaka { $amount } som betalats ut till { $merchant }. Fler utbetalningar väntar tills bankkontot är rätt.
webhook-subject = En webhook för { $merchant } är avstängd
webhook-mail = En webhook för en app för { $merchant } är avstängd, eftersom dess leveranser misslyckades. Appen får inte längre veta något om betalningar.
more-at-desk = Mer finns i administrationen, där du också väljer vilka meddelanden du får:

## Desk: sign in

sign-in = Logga in
email-address = E-postadress
email-address-hint = Vi skickar en länk som du loggar in med.
email-address-error = Ange din e-postadress, till exempel ann@shop.example.
send-link = Skicka länken
check-mail = Titta i din e-post
check-mail-hint = Om { $email } tillhör en användare har vi skickat en länk. Öppna den i den här webbläsaren inom 15 minuter.
sign-in-as = Du loggar in som { $email }.
sign-in-broken = Den här länken fungerar inte
sign-in-broken-hint = Den har redan använts, är för gammal eller hör till en annan webbläsare.
new-link = Be om en ny länk
wait-hint = Vänta några minuter och försök sedan igen.
desk-unavailable = Den här sidan är inte tillgänglig just nu

## Desk: every page

merchants = Butiker
test-mark = Test
sign-out = Logga ut
foreign-form = Det här formuläret skickades av en annan webbplats
foreign-form-hint = Inget har utförts. Gå tillbaka och skicka formuläret igen.
not-found = Den här sidan finns inte
merchant-held = Pausad: { $reason }
not-approved = Den här butiken tar inte emot betalningar förrän operatören har godkänt den

## Desk: payments

payments = Betalningar
search = Sök
more-filters = Fler filter
last-four = Kortets fyra sista siffror
last-four-error = Ange fyra siffror.
from-day = Från
to-day = Till
day-error = Ange ett datum, till exempel 2026-11-28.
state = Status
all-states = Alla statusar
nothing-found = Inga betalningar hittades.
download-csv = Ladda ned CSV
older-payments = Äldre betalningar
newest-payments = Nyaste betalningar
all-merchants = Alla butiker
balance = Saldo
authorized = Reserverad
captured = Debiterad
partly-captured = Delvis debiterad
refunded = Återbetald
partly-refunded = Delvis återbetald
voided = Annullerad
disputed = Bestridd
failed = Misslyckad
dispute-won = Tvist vunnen
dispute-lost = Tvist förlorad
evidence-submitted = Underlag inskickat
dispute-accepted = Förlust godtagen
history = Historik
fees = Avgifter

## Desk: capture, refund and release

capture = Dra
refund = Återbetala
release = Släpp
at-most = Högst { $amount }
available = Tillgängligt
left-afterwards = Kvar efteråt
changed-meanwhile = Betalningen har ändrats under tiden. Kontrollera beloppet.
movement-refused = Det går inte längre, eller inte med detta belopp.

## Desk: mails

mails = E-post
mails-hint = Vilken e-post om den här butiken vill du ha?
mail-dispute = En kund bestrider en betalning
mail-payout = Saldot betalas ut
mail-return = En utbetalning kom tillbaka
mail-webhook = En webhook är avstängd
save = Spara
saved = Sparat

## Desk: account

account = Konto
authenticator = Autentiseringsapp
authenticator-works = Din autentiseringsapp är konfigurerad.
authenticator-missing = Innan du flyttar pengar eller ändrar nycklar behöver du en kod från en autentiseringsapp på din telefon eller dator.
set-up-authenticator = Konfigurera en autentiseringsapp
remove-authenticator = Ta bort autentiseringsappen
scan-code = Skanna den här koden med appen.
qr-code = QR-kod
type-secret = Eller ange den här nyckeln i appen:
enter-code = Ange din kod
code = Kod
code-hint = Sex siffror från din autentiseringsapp eller en återställningskod.
first-code-hint = De sex siffror som appen visar.
code-error = Koden fungerar inte. Ange nästa.
code-locked = För många felaktiga koder. Vänta 15 minuter och försök sedan igen.
recovery-codes = Återställningskoder
recovery-codes-hint = Om du förlorar appen anger du en av de här koderna. Varje kod fungerar en gång. Spara dem på ett säkert ställe nu: den här sidan visar dem inte igen.
recovery-codes-left = Återställningskoder kvar: { $count }
new-recovery-codes = Skapa nya återställningskoder
sessions = Här är du inloggad
session-began = Inloggad: { $time }
session-used = Senast använd: { $time }
this-session = Den här webbläsaren
end-sessions = Logga ut i alla andra webbläsare

## Desk: balance and disputes

payouts = Utbetalningar
all-payouts = Alla utbetalningar
payout = Utbetalning
payout-returned = Utbetalning returnerad
paid-out = Utbetald
month = Månad
next-page = Nästa sida
first-page = Första sidan
nothing-yet = Inget ännu
disputes = Tvister
open-disputes = Öppna tvister
decided-disputes = Avgjorda tvister
days-left = Dagar kvar: { $days }
inquiry = Förfrågan
evidence = Underlag
evidence-text = Din förklaring
evidence-files = Filer
evidence-hint = Högst 5 PDF-, PNG- eller JPEG-filer, 4,5 MB tillsammans, och 20 000 tecken. Nya filer ersätter de sparade.
submit-evidence = Skicka in underlag
submit-evidence-hint = Du kan bara skicka in en gång. Sedan avgör kundens bank.
accept-dispute = Godta förlusten
accept-dispute-hint = Kunden behåller pengarna. Det går inte att ångra.

## Desk: overview

overview = Översikt
next-payout = Väntar på nästa utbetalning
payouts-held = Utbetalningar är pausade
refused-captures = Nekat av inlösaren, senaste 30 dagarna
disabled-webhooks = Inaktiverade webhookar
last-days = Debiterat minus återbetalat, senaste 30 dagarna
days-in-utc = Dagar är i UTC
as-table = Som tabell
day = Dag

## Desk: people

people = Personer
member-since = Medlem sedan { $time }
invited = Inbjuden
invited-until = Inbjuden: länken fungerar till { $time }
invitation-expired = Inbjudan har gått ut
invite = Bjud in
invite-hint = Personen får en länk per e-post, som fungerar i 72 timmar, och kan sedan göra allt här.
invite-again = Bjud in igen
remove = Ta bort { $name }?
remove-hint = Åtkomsten till den här butiken upphör genast.
remove-yourself = Ta bort dig själv?
remove-button = Ta bort
last-member = Den sista medlemmen kan inte tas bort. Bjud in någon först.
apps = Appar

## Desk: developers

developers = Utvecklare
foreign-app = Den här appen arbetar även för butiker där du inte är medlem, så du kan inte hantera dess nycklar och webhookar.
api-keys = API-nycklar
created-on = Skapad { $time }
last-used = Senast använd { $time }
never-used = Aldrig använd
key-name = Nyckelns namn
create-key = Skapa en nyckel
key-created = API-nyckel skapad
too-many-keys = Den här appen har 20 nycklar, vilket är det högsta antalet. Ta bort en först.
last-key = Den sista nyckeln kan inte tas bort. Skapa en annan först.
remove-key-hint = Program som använder den här nyckeln nekas genast.
secret-once = Den visas bara den här gången. Kopiera den till en säker plats.
secret-shown = Den visades en gång och kan inte visas igen.
webhooks = Webhookar
create-webhook = Skapa en webhook
webhook-url = Adress (URL)
webhook-url-error = Ange en adress som börjar med https:// och kan nås från internet.
event-types = Händelser
event-types-hint = Utan ett val skickas alla händelser.
too-many-webhooks = Den här appen har 20 webhookar, vilket är det högsta antalet. Ta bort en först.
enabled = Aktiverad
disabled = Inaktiverad
disabled-failures = Inaktiverad eftersom leveranser misslyckades i fem dagar
disabled-gone = Inaktiverad eftersom mottagaren inte vill ha fler händelser
send-test = Skicka ett test
new-secret = Ny hemlighet
send-again = Skicka händelser igen
new-secret-hint = I 24 timmar signerar även den gamla hemligheten.
send-again-hint = Alla händelser sedan början av den här dagen skickas igen.
remove-webhook-hint = Inget mer skickas till den här adressen.
deliveries = Leveranser
delivered = Levererad
next-attempt = Nästa försök { $time }

## Desk: payment links

payment-links = Betalningslänkar
link-text = Text till kunden
link-text-error = Använd färre tecken, och bara bokstäver, siffror och skiljetecken.
link-once = Kan bara betalas en gång
link-language = Sidans språk
link-language-browser = Som i kundens webbläsare
link-unsigned = Den här butiken har ingen nyckel för länkar, så länkarna är inte signerade: kunder kan ändra beloppet.
make-link = Skapa länken
payment-link = Betalningslänk

## Desk: log

log = Logg
operator = Operatör
acquirer = Inlösare
automatically = Automatiskt
fraud-reported = Misstänkt bedrägeri
acquirer-refused = Nekad av inlösaren
merchant-released = Inte längre pausad
bank-changed = Bankkonto ändrat
invited-again = Inbjuden igen
invitation-accepted = Inbjudan godtagen
member-removed = Medlem borttagen
app-added = App tillagd
app-removed = App borttagen
key-removed = API-nyckel borttagen
webhook-created = Webhook skapad
webhook-changed = Webhook ändrad
webhook-removed = Webhook borttagen
