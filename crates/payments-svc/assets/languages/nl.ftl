### Dutch

## Every page

payment-to-shop = Betaling aan { $shop }
test-payment = Dit is een test: er wordt niets afgeschreven.
contact = Vragen over uw bestelling
terms = Algemene voorwaarden
privacy = Privacybeleid
accessibility = Toegankelijkheid

## Amount form

amount = Bedrag
amount-error =
    { $decimals ->
        [0] Voer het bedrag in cijfers in, zonder decimalen.
        [one] Voer het bedrag in cijfers in, met maximaal { $decimals } decimaal.
       *[other] Voer het bedrag in cijfers in, met maximaal { $decimals } decimalen.
    }
currency = Valuta
currency-error = Voer een valutacode van drie letters in, bijvoorbeeld EUR.
currency-unknown = Betalen in deze valuta is niet mogelijk. Voer een andere code in, bijvoorbeeld EUR.
proceed = Verder

## Card form

card-details = Kaartgegevens
form-error = Corrigeer de gemarkeerde velden.
card-number = Kaartnummer
card-number-error = Voer het kaartnummer in, 12 tot 19 cijfers.
card-number-typo = Controleer het kaartnummer: een cijfer klopt niet.
accepted-cards = Geaccepteerde kaarten
expiry-date = Vervaldatum
expiry-date-malformed = Voer de maand en het jaar in die op de kaart staan, bijvoorbeeld 08/29.
expiry-date-past = De kaart is verlopen. Controleer de datum of gebruik een andere kaart.
security-code = Beveiligingscode
security-code-hint = 3 of 4 cijfers op de kaart
security-code-error = Voer de 3 of 4 cijfers van de beveiligingscode in.
security-code-back = Vul de 3 cijfers op de achterkant van de kaart in.
security-code-front = Vul de 4 cijfers op de voorkant van de kaart in.
needs-script = Zet JavaScript aan en laad de pagina opnieuw om hier te betalen.
card-saved = Uw kaart wordt opgeslagen voor latere betalingen aan deze winkel.
receipt-email = E-mail voor uw betaalbewijs (optioneel)
pay = { $amount } betalen

## Payment in progress

processing = Uw betaling wordt verwerkt
processing-hint = Deze pagina wordt automatisch vernieuwd. Betaal niet nog een keer.
check-again = Opnieuw controleren
confirm-payment = Bevestig de betaling
simulated-bank = Gesimuleerde bank, voor tests
confirm-card = Uw bank vraagt: doet u deze betaling met de kaart die eindigt op { $last4 }?
confirm = Bevestigen
cancel = Annuleren

## Result

payment-successful = Betaling geslaagd
payment-successful-hint = U kunt deze pagina sluiten.
transaction = Transactie
shop = Winkel
date = Datum
card = Kaart
reference = Kenmerk
receipt = Betaalbewijs
payment-failed = Betaling mislukt
declined-details = De bank heeft de kaartgegevens niet geaccepteerd. Controleer ze en probeer het opnieuw.
declined-expired = De kaart is verlopen. Probeer een andere.
declined-funds = Er staat niet genoeg geld op de rekening of de limiet van de kaart is overschreden. Probeer een andere kaart.
declined-bank = De bank heeft de betaling geweigerd. Probeer een andere kaart of neem contact op met uw bank.
declined-again = Er is iets misgegaan, maar er is niets afgeschreven. Probeer het opnieuw.
declined-unsupported = Deze kaart wordt niet geaccepteerd. Probeer een andere.
declined-unconfirmed = De betaling is niet bij uw bank bevestigd.
declined-shop = De winkel kan deze betaling niet accepteren. Neem contact op met de winkel.
try-again = Opnieuw proberen
back-to-shop = Terug naar de winkel

## Problems

link-broken = Deze betaallink werkt niet
link-broken-hint = Vraag de winkel om een nieuwe.
link-used = Deze link is al gebruikt
link-expired = Deze betaallink is verlopen
form-expired = Deze pagina is te oud
form-expired-hint = Er is niets afgeschreven en niets van wat u hebt ingevuld is bewaard.
unavailable = Betalen is op dit moment niet mogelijk
unavailable-hint = Probeer het over een paar minuten opnieuw. Er wordt niets dubbel afgeschreven.
too-many-attempts = Te veel pogingen
too-many-attempts-hint = Wacht een paar minuten en probeer het dan opnieuw. Er is niets afgeschreven.

## Invitation e-mail

invitation-subject = Uitnodiging voor { $merchant }
invitation-greeting = Hallo,
invitation-by-app = { $app } heeft u uitgenodigd om te helpen bij het beheren van de betalingen van { $merchant }.
invitation = U bent uitgenodigd om te helpen bij het beheren van de betalingen van { $merchant }.
invitation-more = De persoon die u heeft uitgenodigd, kan u er meer over vertellen.
invitation-unexpected = Als u dit bericht niet verwachtte, kunt u het negeren.

## Mails of the desk

invitation-link = Open deze pagina binnen 72 uur om de uitnodiging te accepteren en in te loggen:
sign-in-subject = Uw link om in te loggen
sign-in-mail = Open deze pagina binnen 15 minuten, in de browser waarin u de link hebt aangevraagd:
sign-in-unexpected = Als u deze link niet hebt aangevraagd, kunt u dit bericht negeren. Zonder de link kan niemand inloggen.
receipt-mail = U hebt { $amount } betaald aan { $merchant }. Deze link toont 18 maanden lang het betaalbewijs en latere terugbetalingen:
dispute-subject = Betwisting van een betaling aan { $merchant }
dispute-mail = Een klant betwist { $amount } van een betaling aan { $merchant }. U kunt reageren tot en met { $day }.
payout-subject = Uitbetaling aan { $merchant }
payout-mail = { $amount } is onderweg naar de bankrekening van { $merchant }.
return-subject = Een uitbetaling aan { $merchant } kwam terug
return-mail = De bank heeft { $amount } teruggestuurd die aan { $merchant } was uitbetaald. Verdere uitbetalingen wachten tot de bankrekening klopt.
webhook-subject = Een webhook van { $merchant } is uitgeschakeld
webhook-mail = Een webhook van een app van { $merchant } is uitgeschakeld, omdat de bezorging mislukte. De app hoort niets meer over betalingen.
more-at-desk = Meer vindt u in het beheer, waar u ook kiest welke berichten u krijgt:

## Desk: sign in

sign-in = Inloggen
email-address = E-mailadres
email-address-hint = Wij sturen u een link om in te loggen.
email-address-error = Voer uw e-mailadres in, bijvoorbeeld ann@shop.example.
send-link = Link versturen
check-mail = Controleer uw e-mail
check-mail-hint = Als { $email } bij een gebruiker hoort, hebben wij een link gestuurd. Open de link binnen 15 minuten in deze browser.
sign-in-as = U logt in als { $email }.
sign-in-broken = Deze link werkt niet
sign-in-broken-hint = De link is al gebruikt, is te oud of hoort bij een andere browser.
new-link = Nieuwe link aanvragen
wait-hint = Wacht een paar minuten en probeer het dan opnieuw.
desk-unavailable = Deze pagina is op dit moment niet beschikbaar

## Desk: every page

merchants = Winkels
test-mark = Test
sign-out = Uitloggen
foreign-form = Dit formulier is door een andere website verstuurd
foreign-form-hint = Er is niets uitgevoerd. Ga terug en verstuur het formulier opnieuw.
not-found = Deze pagina bestaat niet
merchant-held = Aangehouden: { $reason }
not-approved = Deze winkel neemt geen betalingen aan voordat de beheerder hem goedkeurt

## Desk: payments

payments = Betalingen
search = Zoeken
more-filters = Meer filters
last-four = Laatste vier cijfers van de kaart
last-four-error = Voer vier cijfers in.
from-day = Van
to-day = Tot en met
day-error = Voer een datum in, bijvoorbeeld 2026-11-28.
state = Status
all-states = Alle statussen
nothing-found = Er zijn geen betalingen gevonden.
download-csv = CSV downloaden
older-payments = Oudere betalingen
newest-payments = Nieuwste betalingen
all-merchants = Alle winkels
balance = Saldo
authorized = Geautoriseerd
captured = Geïncasseerd
partly-captured = Deels geïncasseerd
refunded = Terugbetaald
partly-refunded = Deels terugbetaald
voided = Geannuleerd
disputed = Betwist
failed = Mislukt
dispute-won = Geschil gewonnen
dispute-lost = Geschil verloren
evidence-submitted = Bewijs ingediend
dispute-accepted = Verlies aanvaard
history = Geschiedenis
fees = Kosten

## Desk: capture, refund and release

capture = Innen
refund = Terugbetalen
release = Vrijgeven
at-most = Hoogstens { $amount }
available = Beschikbaar
left-afterwards = Blijft daarna over
changed-meanwhile = De betaling is intussen gewijzigd. Controleer het bedrag.
movement-refused = Dit is niet meer mogelijk, of niet met dit bedrag.

## Desk: mails

mails = E-mails
mails-hint = Welke e-mails over deze winkel wilt u?
mail-dispute = Een klant betwist een betaling
mail-payout = Het saldo wordt uitbetaald
mail-return = Een uitbetaling kwam terug
mail-webhook = Een webhook is uitgeschakeld
save = Opslaan
saved = Opgeslagen

## Desk: account

account = Account
authenticator = Authenticatie-app
authenticator-works = Uw authenticatie-app is ingesteld.
authenticator-missing = Voordat u geld verplaatst of sleutels wijzigt, hebt u een code nodig van een authenticatie-app op uw telefoon of computer.
set-up-authenticator = Een authenticatie-app instellen
remove-authenticator = De authenticatie-app verwijderen
scan-code = Scan deze code met de app.
qr-code = QR-code
type-secret = Of voer deze sleutel in de app in:
enter-code = Voer uw code in
code = Code
code-hint = Zes cijfers uit uw authenticatie-app, of een herstelcode.
first-code-hint = De zes cijfers die de app toont.
code-error = Deze code werkt niet. Voer de volgende in.
code-locked = Te veel onjuiste codes. Wacht 15 minuten en probeer het dan opnieuw.
recovery-codes = Herstelcodes
recovery-codes-hint = Als u de app kwijtraakt, voert u een van deze codes in. Elke code werkt één keer. Bewaar ze nu op een veilige plaats: deze pagina toont ze niet nog een keer.
recovery-codes-left = Resterende herstelcodes: { $count }
new-recovery-codes = Nieuwe herstelcodes maken
sessions = Waar u bent ingelogd
session-began = Ingelogd: { $time }
session-used = Laatst gebruikt: { $time }
this-session = Deze browser
end-sessions = In alle andere browsers uitloggen

## Desk: balance and disputes

payouts = Uitbetalingen
all-payouts = Alle uitbetalingen
payout = Uitbetaling
payout-returned = Uitbetaling teruggekomen
paid-out = Uitbetaald
month = Maand
next-page = Volgende pagina
first-page = Eerste pagina
nothing-yet = Nog niets
disputes = Geschillen
open-disputes = Openstaande geschillen
decided-disputes = Besliste geschillen
days-left = Resterende dagen: { $days }
inquiry = Verzoek om informatie
evidence = Bewijs
evidence-text = Uw uitleg
evidence-files = Bestanden
evidence-hint = Maximaal 5 PDF-, PNG- of JPEG-bestanden, samen 4,5 MB, en 20.000 tekens. Nieuwe bestanden vervangen de opgeslagen bestanden.
submit-evidence = Bewijs indienen
submit-evidence-hint = U kunt één keer indienen. Daarna beslist de bank van de klant.
accept-dispute = Verlies aanvaarden
accept-dispute-hint = De klant houdt het geld. Dit kan niet ongedaan worden gemaakt.

## Desk: overview

overview = Overzicht
next-payout = Wacht op de volgende uitbetaling
payouts-held = Uitbetalingen worden aangehouden
refused-captures = Geweigerd door de acquirer, laatste 30 dagen
disabled-webhooks = Uitgeschakelde webhooks
last-days = Geïnd minus terugbetaald, laatste 30 dagen
days-in-utc = Dagen zijn in UTC
as-table = Als tabel
day = Dag

## Desk: people

people = Personen
member-since = Lid sinds { $time }
invited = Uitgenodigd
invited-until = Uitgenodigd: de link werkt tot { $time }
invitation-expired = De uitnodiging is verlopen
invite = Uitnodigen
invite-hint = De persoon krijgt per e-mail een link die 72 uur werkt, en kan daarna hier alles doen.
invite-again = Opnieuw uitnodigen
remove = { $name } verwijderen?
remove-hint = De toegang tot deze winkel eindigt meteen.
remove-yourself = Uzelf verwijderen?
remove-button = Verwijderen
last-member = Het laatste lid kan niet worden verwijderd. Nodig eerst iemand uit.
apps = Apps

## Desk: developers

developers = Ontwikkelaars
foreign-app = Deze app werkt ook voor winkels waarvan u geen lid bent, dus u kunt de sleutels en webhooks niet beheren.
api-keys = API-sleutels
created-on = Gemaakt op { $time }
last-used = Laatst gebruikt op { $time }
never-used = Nooit gebruikt
key-name = Naam van de sleutel
create-key = Sleutel maken
key-created = API-sleutel gemaakt
too-many-keys = Deze app heeft 20 sleutels, het maximum. Verwijder er eerst een.
last-key = De laatste sleutel kan niet worden verwijderd. Maak eerst een andere.
remove-key-hint = Programma's die deze sleutel gebruiken, worden meteen geweigerd.
secret-once = Dit is de enige keer dat u het ziet. Kopieer het naar een veilige plaats.
secret-shown = Het is één keer getoond en kan niet nogmaals worden getoond.
webhooks = Webhooks
create-webhook = Webhook maken
webhook-url = Adres (URL)
webhook-url-error = Voer een adres in dat begint met https:// en vanaf internet bereikbaar is.
event-types = Gebeurtenissen
event-types-hint = Zonder keuze worden alle gebeurtenissen verzonden.
too-many-webhooks = Deze app heeft 20 webhooks, het maximum. Verwijder er eerst een.
enabled = Ingeschakeld
disabled = Uitgeschakeld
disabled-failures = Uitgeschakeld, omdat bezorging vijf dagen lang mislukte
disabled-gone = Uitgeschakeld, omdat de ontvanger geen gebeurtenissen meer wil
send-test = Test verzenden
new-secret = Nieuw geheim
send-again = Gebeurtenissen opnieuw verzenden
new-secret-hint = Gedurende 24 uur ondertekent ook het oude geheim.
send-again-hint = Alle gebeurtenissen sinds het begin van deze dag worden opnieuw verzonden.
remove-webhook-hint = Er wordt niets meer naar dit adres verzonden.
deliveries = Bezorgingen
delivered = Bezorgd
next-attempt = Volgende poging { $time }

## Desk: payment links

payment-links = Betaallinks
link-text = Tekst voor de klant
link-text-error = Gebruik minder tekens, en alleen letters, cijfers en leestekens.
link-once = Kan maar één keer worden betaald
link-language = Taal van de pagina
link-language-browser = Zoals in de browser van de klant
link-unsigned = Deze winkel heeft geen sleutel voor links, dus de links zijn niet ondertekend: klanten kunnen het bedrag wijzigen.
make-link = Link maken
payment-link = Betaallink

## Desk: log

log = Logboek
operator = Beheerder
acquirer = Acquirer
automatically = Automatisch
fraud-reported = Vermoeden van fraude
acquirer-refused = Geweigerd door de acquirer
merchant-released = Niet meer aangehouden
bank-changed = Bankrekening gewijzigd
invited-again = Opnieuw uitgenodigd
invitation-accepted = Uitnodiging geaccepteerd
member-removed = Lid verwijderd
app-added = App toegevoegd
app-removed = App verwijderd
key-removed = API-sleutel verwijderd
webhook-created = Webhook gemaakt
webhook-changed = Webhook gewijzigd
webhook-removed = Webhook verwijderd
