### Dutch

## Every page

payment-to-shop = Betaling aan { $shop }
test-payment = Dit is een test: er wordt niets afgeschreven.
contact = Vragen over uw bestelling
terms = Algemene voorwaarden
privacy = Privacybeleid

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
expiry-date = Vervaldatum
expiry-date-format = MM / JJ
expiry-date-malformed = Voer de maand en het jaar in die op de kaart staan, bijvoorbeeld 08/29.
expiry-date-past = De kaart is verlopen. Controleer de datum of gebruik een andere kaart.
security-code = Beveiligingscode
security-code-hint = 3 of 4 cijfers op de kaart
security-code-error = Voer de 3 of 4 cijfers van de beveiligingscode in.
needs-script = Zet JavaScript aan en laad de pagina opnieuw om hier te betalen.
card-saved = Uw kaart wordt opgeslagen voor latere betalingen aan deze winkel.
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
