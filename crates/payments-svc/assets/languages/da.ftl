### Danish

## Every page

payment-to-shop = Betaling til { $shop }
test-payment = Dette er en test: Der trækkes ingen penge.
contact = Spørgsmål om din ordre
terms = Handelsbetingelser
privacy = Privatlivspolitik
accessibility = Tilgængelighed

## Amount form

amount = Beløb
amount-error =
    { $decimals ->
        [0] Indtast beløbet med tal, uden decimaler.
        [one] Indtast beløbet med tal, med højst { $decimals } decimal.
       *[other] Indtast beløbet med tal, med højst { $decimals } decimaler.
    }
currency = Valuta
currency-error = Indtast en valutakode på tre bogstaver, f.eks. EUR.
currency-unknown = Det er ikke muligt at betale i denne valuta. Indtast en anden kode, f.eks. EUR.
proceed = Fortsæt

## Card form

card-details = Kortoplysninger
form-error = Ret de markerede felter.
card-number = Kortnummer
card-number-error = Indtast kortnummeret, 12 til 19 cifre.
card-number-typo = Kontrollér kortnummeret: Et ciffer er forkert.
accepted-cards = Accepterede kort
expiry-date = Udløbsdato
expiry-date-malformed = Indtast måned og år fra kortet, f.eks. 08/29.
expiry-date-past = Kortet er udløbet. Kontrollér datoen, eller brug et andet kort.
security-code = Sikkerhedskode
security-code-hint = 3 eller 4 cifre på kortet
security-code-error = Indtast sikkerhedskodens 3 eller 4 cifre.
security-code-back = Indtast de 3 cifre på kortets bagside.
security-code-front = Indtast de 4 cifre på kortets forside.
needs-script = Slå JavaScript til, og genindlæs siden for at betale her.
card-saved = Dit kort gemmes til fremtidige betalinger til denne butik.
receipt-email = E-mail til din kvittering (valgfrit)
pay = Betal { $amount }

## Payment in progress

processing = Din betaling behandles
processing-hint = Siden opdateres automatisk. Betal ikke igen.
check-again = Tjek igen
confirm-payment = Godkend betalingen
simulated-bank = Simuleret bank, til test
confirm-card = Din bank spørger: Foretager du denne betaling med kortet, der ender på { $last4 }?
confirm = Godkend
cancel = Annullér

## Result

payment-successful = Betalingen er gennemført
payment-successful-hint = Du kan lukke siden.
transaction = Transaktion
shop = Butik
date = Dato
card = Kort
reference = Reference
receipt = Kvittering
payment-failed = Betalingen mislykkedes
declined-details = Banken godkendte ikke kortoplysningerne. Kontrollér dem, og prøv igen.
declined-expired = Kortet er udløbet. Prøv et andet.
declined-funds = Der er ikke nok penge på kontoen, eller kortets beløbsgrænse er overskredet. Prøv et andet kort.
declined-bank = Banken afviste betalingen. Prøv et andet kort, eller kontakt din bank.
declined-again = Noget gik galt, men der er ikke trukket penge. Prøv igen.
declined-unsupported = Dette kort accepteres ikke. Prøv et andet.
declined-unconfirmed = Betalingen blev ikke godkendt hos din bank.
declined-shop = Butikken kan ikke modtage denne betaling. Kontakt butikken.
try-again = Prøv igen
back-to-shop = Tilbage til butikken

## Problems

link-broken = Dette betalingslink virker ikke
link-broken-hint = Bed butikken om et nyt.
link-used = Linket er allerede brugt
link-expired = Betalingslinket er udløbet
form-expired = Siden er for gammel
form-expired-hint = Du er ikke blevet opkrævet, og det, du indtastede, er ikke gemt.
unavailable = Betaling er ikke mulig i øjeblikket
unavailable-hint = Prøv igen om et par minutter. Der trækkes ikke penge to gange.
too-many-attempts = For mange forsøg
too-many-attempts-hint = Vent et par minutter, og prøv igen. Der er ikke trukket penge.

## Invitation e-mail

invitation-subject = Invitation til { $merchant }
invitation-greeting = Hej
invitation-by-app = { $app } har inviteret dig til at hjælpe med at administrere betalingerne hos { $merchant }.
invitation = Du er blevet inviteret til at hjælpe med at administrere betalingerne hos { $merchant }.
invitation-more = Den person, der har inviteret dig, kan fortælle dig mere.
invitation-unexpected = Hvis du ikke havde ventet denne besked, kan du se bort fra den.

## Mails of the desk

invitation-link = Åbn denne side inden for 72 timer for at acceptere invitationen og logge ind:
sign-in-subject = Dit link til at logge ind
sign-in-mail = Åbn denne side inden for 15 minutter i den browser, hvor du bad om linket:
sign-in-unexpected = Hvis du ikke har bedt om dette link, kan du se bort fra denne besked. Ingen kan logge ind uden linket.
receipt-mail = Du har betalt { $amount } til { $merchant }. Dette link viser kvitteringen og senere refusioner i 18 måneder:
dispute-subject = Indsigelse mod en betaling til { $merchant }
dispute-mail = En kunde gør indsigelse mod { $amount } af en betaling til { $merchant }. Den kan besvares indtil { $day }.
payout-subject = Udbetaling til { $merchant }
payout-mail = { $amount } er på vej til bankkontoen for { $merchant }.
return-subject = En udbetaling til { $merchant } kom retur
return-mail = Banken sendte { $amount } retur, som var udbetalt til { $merchant }. Flere udbetalinger venter, til bankkontoen er rigtig.
webhook-subject = En webhook for { $merchant } er deaktiveret
webhook-mail = En webhook for en app for { $merchant } er deaktiveret, fordi dens leveringer mislykkedes. Appen hører ikke længere om betalinger.
more-at-desk = Du finder mere i administrationen, hvor du også vælger, hvilke beskeder du får:

## Desk: sign in

sign-in = Log ind
email-address = E-mailadresse
email-address-hint = Vi sender dig et link til at logge ind.
email-address-error = Indtast din e-mailadresse, f.eks. ann@shop.example.
send-link = Send linket
check-mail = Tjek din e-mail
check-mail-hint = Hvis { $email } tilhører en bruger, har vi sendt et link. Åbn det i denne browser inden for 15 minutter.
sign-in-as = Du logger ind som { $email }.
sign-in-broken = Dette link virker ikke
sign-in-broken-hint = Det er allerede brugt, er for gammelt eller hører til en anden browser.
new-link = Bed om et nyt link
wait-hint = Vent et par minutter, og prøv igen.
desk-unavailable = Siden er ikke tilgængelig i øjeblikket

## Desk: every page

merchants = Butikker
test-mark = Test
sign-out = Log ud
foreign-form = Denne formular blev sendt af et andet websted
foreign-form-hint = Der er ikke sket noget. Gå tilbage, og send formularen igen.
not-found = Siden findes ikke
merchant-held = Sat i bero: { $reason }
not-approved = Denne butik modtager ingen betalinger, før operatøren godkender den

## Desk: payments

payments = Betalinger
search = Søg
more-filters = Flere filtre
last-four = Kortets sidste fire cifre
last-four-error = Indtast fire cifre.
from-day = Fra
to-day = Til
day-error = Indtast en dato, f.eks. 2026-11-28.
state = Status
all-states = Alle statusser
nothing-found = Der blev ikke fundet nogen betalinger.
download-csv = Hent CSV
older-payments = Ældre betalinger
newest-payments = Nyeste betalinger
all-merchants = Alle butikker
balance = Saldo
authorized = Reserveret
captured = Hævet
partly-captured = Delvist hævet
refunded = Refunderet
partly-refunded = Delvist refunderet
voided = Annulleret
disputed = Bestridt
failed = Mislykket
dispute-won = Tvist vundet
dispute-lost = Tvist tabt
evidence-submitted = Dokumentation indsendt
dispute-accepted = Tab accepteret
history = Historik
fees = Gebyrer

## Desk: capture, refund and release

capture = Hæv
refund = Refunder
release = Frigiv
at-most = Højst { $amount }
available = Til rådighed
left-afterwards = Resterer derefter
changed-meanwhile = Betalingen er ændret i mellemtiden. Kontrollér beløbet.
movement-refused = Det er ikke længere muligt, eller ikke med dette beløb.

## Desk: mails

mails = E-mails
mails-hint = Hvilke e-mails om denne butik vil du have?
mail-dispute = En kunde gør indsigelse mod en betaling
mail-payout = Saldoen er udbetalt
mail-return = En udbetaling kom retur
mail-webhook = En webhook er deaktiveret
save = Gem
saved = Gemt

## Desk: account

account = Konto
authenticator = Godkendelsesapp
authenticator-works = Din godkendelsesapp er sat op.
authenticator-missing = Du skal bruge en kode fra en godkendelsesapp på din telefon eller computer, før du flytter penge eller ændrer nøgler.
set-up-authenticator = Sæt en godkendelsesapp op
remove-authenticator = Fjern godkendelsesappen
scan-code = Scan denne kode med appen.
qr-code = QR-kode
type-secret = Eller indtast denne nøgle i appen:
enter-code = Indtast din kode
code = Kode
code-hint = Seks cifre fra din godkendelsesapp eller en gendannelseskode.
first-code-hint = De seks cifre, som appen viser.
code-error = Koden virker ikke. Indtast den næste.
code-locked = For mange forkerte koder. Vent 15 minutter, og prøv igen.
recovery-codes = Gendannelseskoder
recovery-codes-hint = Hvis du mister appen, kan du indtaste en af disse koder. Hver kode virker én gang. Gem dem et sikkert sted nu: Denne side viser dem ikke igen.
recovery-codes-left = Gendannelseskoder tilbage: { $count }
new-recovery-codes = Lav nye gendannelseskoder
sessions = Her er du logget ind
session-began = Logget ind: { $time }
session-used = Sidst brugt: { $time }
this-session = Denne browser
end-sessions = Log ud i alle andre browsere

## Desk: balance and disputes

payouts = Udbetalinger
all-payouts = Alle udbetalinger
payout = Udbetaling
payout-returned = Udbetaling returneret
paid-out = Udbetalt
month = Måned
next-page = Næste side
first-page = Første side
nothing-yet = Intet endnu
disputes = Tvister
open-disputes = Åbne tvister
decided-disputes = Afgjorte tvister
days-left = Dage tilbage: { $days }
inquiry = Forespørgsel
evidence = Dokumentation
evidence-text = Din forklaring
evidence-files = Filer
evidence-hint = Højst 5 PDF-, PNG- eller JPEG-filer, 4,5 MB i alt, og 20.000 tegn. Nye filer erstatter de gemte.
submit-evidence = Indsend dokumentation
submit-evidence-hint = Du kan kun indsende én gang. Derefter afgør kundens bank sagen.
accept-dispute = Accepter tabet
accept-dispute-hint = Kunden beholder pengene. Det kan ikke fortrydes.

## Desk: overview

overview = Overblik
next-payout = Venter på næste udbetaling
payouts-held = Udbetalinger er sat i bero
refused-captures = Afvist af kortindløseren de seneste 30 dage
disabled-webhooks = Deaktiverede webhooks
last-days = Hævet minus refunderet, seneste 30 dage
days-in-utc = Dage er i UTC
as-table = Som tabel
day = Dag

## Desk: people

people = Personer
member-since = Medlem siden { $time }
invited = Inviteret
invited-until = Inviteret: linket virker til { $time }
invitation-expired = Invitationen er udløbet
invite = Inviter
invite-hint = Personen får et link pr. e-mail, som virker i 72 timer, og kan derefter gøre alt her.
invite-again = Inviter igen
remove = Fjern { $name }?
remove-hint = Adgangen til denne butik ophører straks.
remove-yourself = Fjern dig selv?
remove-button = Fjern
last-member = Det sidste medlem kan ikke fjernes. Inviter først en anden.
apps = Apps

## Desk: developers

developers = Udviklere
foreign-app = Denne app arbejder også for butikker, hvor du ikke er medlem, så du kan ikke administrere dens nøgler og webhooks.
api-keys = API-nøgler
created-on = Oprettet { $time }
last-used = Sidst brugt { $time }
never-used = Aldrig brugt
key-name = Nøglens navn
create-key = Opret en nøgle
key-created = API-nøgle oprettet
too-many-keys = Denne app har 20 nøgler, som er det maksimale. Fjern først en.
last-key = Den sidste nøgle kan ikke fjernes. Opret først en anden.
remove-key-hint = Programmer, der bruger denne nøgle, afvises straks.
secret-once = Den vises kun denne ene gang. Kopiér den til et sikkert sted.
secret-shown = Den blev vist én gang og kan ikke vises igen.
webhooks = Webhooks
create-webhook = Opret en webhook
webhook-url = Adresse (URL)
webhook-url-error = Indtast en adresse, der begynder med https:// og kan nås fra internettet.
event-types = Hændelser
event-types-hint = Uden et valg sendes alle hændelser.
too-many-webhooks = Denne app har 20 webhooks, som er det maksimale. Fjern først en.
enabled = Aktiveret
disabled = Deaktiveret
disabled-failures = Deaktiveret, fordi leveringer mislykkedes i fem dage
disabled-gone = Deaktiveret, fordi modtageren ikke ønsker flere hændelser
send-test = Send en test
new-secret = Ny hemmelighed
send-again = Send hændelser igen
new-secret-hint = I 24 timer signerer den gamle hemmelighed også.
send-again-hint = Alle hændelser siden begyndelsen af denne dag sendes igen.
remove-webhook-hint = Der sendes ikke mere til denne adresse.
deliveries = Leveringer
delivered = Leveret
next-attempt = Næste forsøg { $time }

## Desk: payment links

payment-links = Betalingslinks
link-text = Tekst til kunden
link-text-error = Brug færre tegn, og kun bogstaver, tal og tegnsætning.
link-once = Kan kun betales én gang
link-language = Sidens sprog
link-language-browser = Som i kundens browser
link-unsigned = Denne butik har ingen nøgle til links, så linkene er ikke signeret: kunder kan ændre beløbet.
make-link = Lav linket
payment-link = Betalingslink

## Desk: log

log = Log
operator = Operatør
acquirer = Indløser
automatically = Automatisk
fraud-reported = Mistanke om svindel
acquirer-refused = Afvist af indløseren
merchant-released = Ikke længere sat i bero
bank-changed = Bankkonto ændret
invited-again = Inviteret igen
invitation-accepted = Invitation accepteret
member-removed = Medlem fjernet
app-added = App tilføjet
app-removed = App fjernet
key-removed = API-nøgle fjernet
webhook-created = Webhook oprettet
webhook-changed = Webhook ændret
webhook-removed = Webhook fjernet
