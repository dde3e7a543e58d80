### Norwegian Bokmål

## Every page

payment-to-shop = Betaling til { $shop }
test-payment = Dette er en test: Det trekkes ingen penger.
contact = Spørsmål om bestillingen
terms = Vilkår
privacy = Personvernerklæring
accessibility = Tilgjengelighet

## Amount form

amount = Beløp
amount-error =
    { $decimals ->
        [0] Skriv inn beløpet med tall, uten desimaler.
        [one] Skriv inn beløpet med tall, med høyst { $decimals } desimal.
       *[other] Skriv inn beløpet med tall, med høyst { $decimals } desimaler.
    }
currency = Valuta
currency-error = Skriv inn en valutakode på tre bokstaver, for eksempel EUR.
currency-unknown = Det er ikke mulig å betale i denne valutaen. Skriv inn en annen kode, for eksempel EUR.
proceed = Fortsett

## Card form

card-details = Kortopplysninger
form-error = Rett feltene som er merket.
card-number = Kortnummer
card-number-error = Skriv inn kortnummeret, 12 til 19 sifre.
card-number-typo = Kontroller kortnummeret: Ett siffer er feil.
accepted-cards = Godtatte kort
expiry-date = Utløpsdato
expiry-date-malformed = Skriv inn måneden og året som står på kortet, for eksempel 08/29.
expiry-date-past = Kortet er utløpt. Kontroller datoen, eller bruk et annet kort.
security-code = Sikkerhetskode
security-code-hint = 3 eller 4 sifre på kortet
security-code-error = Skriv inn de 3 eller 4 sifrene i sikkerhetskoden.
security-code-back = Skriv inn de 3 sifrene på baksiden av kortet.
security-code-front = Skriv inn de 4 sifrene på forsiden av kortet.
needs-script = Slå på JavaScript og last inn siden på nytt for å betale her.
card-saved = Kortet ditt lagres for senere betalinger til denne butikken.
receipt-email = E-post for kvitteringen din (valgfritt)
pay = Betal { $amount }

## Payment in progress

processing = Betalingen din behandles
processing-hint = Siden oppdateres automatisk. Ikke betal en gang til.
check-again = Sjekk på nytt
confirm-payment = Bekreft betalingen
simulated-bank = Simulert bank for testing
confirm-card = Banken din spør: Gjør du denne betalingen med kortet som slutter på { $last4 }?
confirm = Bekreft
cancel = Avbryt

## Result

payment-successful = Betalingen er gjennomført
payment-successful-hint = Du kan lukke siden.
transaction = Transaksjon
shop = Butikk
date = Dato
card = Kort
reference = Referanse
receipt = Kvittering
payment-failed = Betalingen mislyktes
declined-details = Banken godtok ikke kortopplysningene. Kontroller dem, og prøv igjen.
declined-expired = Kortet er utløpt. Prøv et annet.
declined-funds = Det er ikke nok penger på kontoen, eller kortets beløpsgrense er overskredet. Prøv et annet kort.
declined-bank = Banken avviste betalingen. Prøv et annet kort, eller kontakt banken din.
declined-again = Noe gikk galt, men det er ikke trukket noe beløp. Prøv igjen.
declined-unsupported = Dette kortet godtas ikke. Prøv et annet.
declined-unconfirmed = Betalingen ble ikke bekreftet hos banken din.
declined-shop = Butikken kan ikke ta imot denne betalingen. Kontakt butikken.
try-again = Prøv igjen
back-to-shop = Tilbake til butikken

## Problems

link-broken = Denne betalingslenken virker ikke
link-broken-hint = Be butikken om en ny.
link-used = Denne lenken er allerede brukt
link-expired = Denne betalingslenken er utløpt
form-expired = Denne siden er for gammel
form-expired-hint = Du er ikke belastet, og ingenting av det du skrev inn, er lagret.
unavailable = Det er ikke mulig å betale akkurat nå
unavailable-hint = Prøv igjen om noen minutter. Du blir ikke belastet to ganger.
too-many-attempts = For mange forsøk
too-many-attempts-hint = Vent noen minutter, og prøv igjen. Det er ikke trukket noe beløp.

## Invitation e-mail

invitation-subject = Invitasjon til { $merchant }
invitation-greeting = Hei!
invitation-by-app = { $app } har invitert deg til å hjelpe med å administrere betalingene til { $merchant }.
invitation = Du er invitert til å hjelpe med å administrere betalingene til { $merchant }.
invitation-more = Den som inviterte deg, kan fortelle deg mer.
invitation-unexpected = Hvis du ikke ventet denne meldingen, kan du se bort fra den.

## Mails of the desk

invitation-link = Åpne denne siden innen 72 timer for å godta invitasjonen og logge inn:
sign-in-subject = Din innloggingslenke
sign-in-mail = Åpne denne siden innen 15 minutter, i nettleseren der du ba om lenken:
sign-in-unexpected = Hvis du ikke har bedt om denne lenken, kan du se bort fra meldingen. Ingen kan logge inn uten lenken.
receipt-mail = Du har betalt { $amount } til { $merchant }. Denne lenken viser kvitteringen og senere refusjoner i 18 måneder:
dispute-subject = Tvist om en betaling til { $merchant }
dispute-mail = En kunde bestrider { $amount } av en betaling til { $merchant }. Den kan besvares til og med { $day }.
payout-subject = Utbetaling til { $merchant }
payout-mail = { $amount } er på vei til bankkontoen til { $merchant }.
return-subject = En utbetaling til { $merchant } kom i retur
return-mail = Banken sendte tilbake { $amount } som var utbetalt til { $merchant }. Flere utbetalinger venter til bankkontoen er riktig.
webhook-subject = En webhook for { $merchant } er deaktivert
webhook-mail = En webhook for en app for { $merchant } er deaktivert, fordi leveringene mislyktes. Appen får ikke lenger vite om betalinger.
more-at-desk = Du finner mer i administrasjonen, der du også velger hvilke meldinger du får:

## Desk: sign in

sign-in = Logg inn
email-address = E-postadresse
email-address-hint = Vi sender deg en lenke for å logge inn.
email-address-error = Skriv inn e-postadressen din, for eksempel ann@shop.example.
send-link = Send lenken
check-mail = Sjekk e-posten din
check-mail-hint = Hvis { $email } tilhører en bruker, har vi sendt en lenke. Åpne den i denne nettleseren innen 15 minutter.
sign-in-as = Du logger inn som { $email }.
sign-in-broken = Denne lenken virker ikke
sign-in-broken-hint = Den er allerede brukt, er for gammel eller hører til en annen nettleser.
new-link = Be om en ny lenke
wait-hint = Vent noen minutter, og prøv igjen.
desk-unavailable = Denne siden er ikke tilgjengelig akkurat nå

## Desk: every page

merchants = Butikker
test-mark = Test
sign-out = Logg ut
foreign-form = Dette skjemaet ble sendt fra et annet nettsted
foreign-form-hint = Ingenting ble gjort. Gå tilbake, og send skjemaet på nytt.
not-found = Denne siden finnes ikke
merchant-held = På vent: { $reason }
not-approved = Denne butikken tar ikke imot betalinger før operatøren godkjenner den

## Desk: payments

payments = Betalinger
search = Søk
more-filters = Flere filtre
last-four = De fire siste sifrene på kortet
last-four-error = Skriv inn fire sifre.
from-day = Fra
to-day = Til
day-error = Skriv inn en dato, for eksempel 2026-11-28.
state = Status
all-states = Alle statuser
nothing-found = Ingen betalinger ble funnet.
download-csv = Last ned CSV
older-payments = Eldre betalinger
newest-payments = Nyeste betalinger
all-merchants = Alle butikker
balance = Saldo
authorized = Reservert
captured = Belastet
partly-captured = Delvis belastet
refunded = Refundert
partly-refunded = Delvis refundert
voided = Annullert
disputed = Bestridt
failed = Mislykket
dispute-won = Tvist vunnet
dispute-lost = Tvist tapt
evidence-submitted = Dokumentasjon sendt
dispute-accepted = Tap godtatt
history = Historikk
fees = Gebyrer

## Desk: capture, refund and release

capture = Trekk
refund = Refunder
release = Frigi
at-most = Høyst { $amount }
available = Tilgjengelig
left-afterwards = Igjen etterpå
changed-meanwhile = Betalingen er endret i mellomtiden. Kontroller beløpet.
movement-refused = Dette er ikke lenger mulig, eller ikke med dette beløpet.

## Desk: mails

mails = E-poster
mails-hint = Hvilke e-poster om denne butikken vil du ha?
mail-dispute = En kunde bestrider en betaling
mail-payout = Saldoen utbetales
mail-return = En utbetaling kom i retur
mail-webhook = En webhook er deaktivert
save = Lagre
saved = Lagret

## Desk: account

account = Konto
authenticator = Autentiseringsapp
authenticator-works = Autentiseringsappen din er satt opp.
authenticator-missing = Du trenger en kode fra en autentiseringsapp på telefonen eller datamaskinen før du flytter penger eller endrer nøkler.
set-up-authenticator = Sett opp en autentiseringsapp
remove-authenticator = Fjern autentiseringsappen
scan-code = Skann denne koden med appen.
qr-code = QR-kode
type-secret = Eller skriv inn denne nøkkelen i appen:
enter-code = Skriv inn koden
code = Kode
code-hint = Seks sifre fra autentiseringsappen, eller en gjenopprettingskode.
first-code-hint = De seks sifrene som appen viser.
code-error = Denne koden virker ikke. Skriv inn den neste.
code-locked = For mange feil koder. Vent 15 minutter, og prøv igjen.
recovery-codes = Gjenopprettingskoder
recovery-codes-hint = Hvis du mister appen, skriver du inn en av disse kodene. Hver kode virker én gang. Oppbevar dem på et trygt sted nå: Denne siden viser dem ikke igjen.
recovery-codes-left = Gjenopprettingskoder igjen: { $count }
new-recovery-codes = Lag nye gjenopprettingskoder
sessions = Her er du logget inn
session-began = Logget inn: { $time }
session-used = Sist brukt: { $time }
this-session = Denne nettleseren
end-sessions = Logg ut i alle andre nettlesere

## Desk: balance and disputes

payouts = Utbetalinger
all-payouts = Alle utbetalinger
payout = Utbetaling
payout-returned = Utbetaling returnert
paid-out = Utbetalt
month = Måned
next-page = Neste side
first-page = Første side
nothing-yet = Ingenting ennå
disputes = Tvister
open-disputes = Åpne tvister
decided-disputes = Avgjorte tvister
days-left = Dager igjen: { $days }
inquiry = Forespørsel
evidence = Dokumentasjon
evidence-text = Din forklaring
evidence-files = Filer
evidence-hint = Høyst 5 PDF-, PNG- eller JPEG-filer, 4,5 MB til sammen, og 20 000 tegn. Nye filer erstatter de lagrede.
submit-evidence = Send dokumentasjon
submit-evidence-hint = Du kan bare sende én gang. Deretter avgjør kundens bank saken.
accept-dispute = Godta tapet
accept-dispute-hint = Kunden beholder pengene. Dette kan ikke angres.

## Desk: overview

overview = Oversikt
next-payout = Venter på neste utbetaling
payouts-held = Utbetalinger er på vent
refused-captures = Avvist av innløseren de siste 30 dagene
disabled-webhooks = Deaktiverte webhooker
last-days = Trukket minus refundert, siste 30 dager
days-in-utc = Dager er i UTC
as-table = Som tabell
day = Dag

## Desk: people

people = Personer
member-since = Medlem siden { $time }
invited = Invitert
invited-until = Invitert: lenken virker til { $time }
invitation-expired = Invitasjonen er utløpt
invite = Inviter
invite-hint = Personen får en lenke på e-post, som virker i 72 timer, og kan deretter gjøre alt her.
invite-again = Inviter på nytt
remove = Fjerne { $name }?
remove-hint = Tilgangen til denne butikken opphører straks.
remove-yourself = Fjerne deg selv?
remove-button = Fjern
last-member = Det siste medlemmet kan ikke fjernes. Inviter noen først.
apps = Apper

## Desk: developers

developers = Utviklere
foreign-app = Denne appen arbeider også for butikker der du ikke er medlem, så du kan ikke administrere nøklene og webhookene.
api-keys = API-nøkler
created-on = Opprettet { $time }
last-used = Sist brukt { $time }
never-used = Aldri brukt
key-name = Navn på nøkkelen
create-key = Opprett en nøkkel
key-created = API-nøkkel opprettet
too-many-keys = Denne appen har 20 nøkler, som er det meste. Fjern en først.
last-key = Den siste nøkkelen kan ikke fjernes. Opprett en annen først.
remove-key-hint = Programmer som bruker denne nøkkelen, avvises straks.
secret-once = Den vises bare denne ene gangen. Kopier den til et trygt sted.
secret-shown = Den ble vist én gang og kan ikke vises igjen.
webhooks = Webhooker
create-webhook = Opprett en webhook
webhook-url = Adresse (URL)
webhook-url-error = Skriv inn en adresse som begynner med https:// og kan nås fra internett.
event-types = Hendelser
event-types-hint = Uten et valg sendes alle hendelser.
too-many-webhooks = Denne appen har 20 webhooker, som er det meste. Fjern en først.
enabled = Aktivert
disabled = Deaktivert
disabled-failures = Deaktivert fordi leveringer mislyktes i fem dager
disabled-gone = Deaktivert fordi mottakeren ikke vil ha flere hendelser
send-test = Send en test
new-secret = Ny hemmelighet
send-again = Send hendelser på nytt
new-secret-hint = I 24 timer signerer den gamle hemmeligheten også.
send-again-hint = Alle hendelser siden begynnelsen av denne dagen sendes på nytt.
remove-webhook-hint = Ingenting mer sendes til denne adressen.
deliveries = Leveringer
delivered = Levert
next-attempt = Neste forsøk { $time }

## Desk: payment links

payment-links = Betalingslenker
link-text = Tekst til kunden
link-text-error = Bruk færre tegn, og bare bokstaver, tall og skilletegn.
link-once = Kan bare betales én gang
link-language = Språket på siden
link-language-browser = Som i kundens nettleser
link-unsigned = Denne butikken har ingen nøkkel for lenker, så lenkene er ikke signert: kunder kan endre beløpet.
make-link = Lag lenken
payment-link = Betalingslenke

## Desk: log

log = Logg
operator = Operatør
acquirer = Innløser
automatically = Automatisk
fraud-reported = Mistanke om svindel
acquirer-refused = Avvist av innløseren
merchant-released = Ikke lenger på vent
bank-changed = Bankkonto endret
invited-again = Invitert på nytt
invitation-accepted = Invitasjon godtatt
member-removed = Medlem fjernet
app-added = App lagt til
app-removed = App fjernet
key-removed = API-nøkkel fjernet
webhook-created = Webhook opprettet
webhook-changed = Webhook endret
webhook-removed = Webhook fjernet
