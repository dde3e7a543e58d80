### Estonian

## Every page

payment-to-shop = Makse saajale { $shop }
test-payment = See on test: raha ei liigu.
contact = Küsimused tellimuse kohta
terms = Tingimused
privacy = Privaatsuspoliitika
accessibility = Ligipääsetavus

## Amount form

amount = Summa
amount-error =
    { $decimals ->
        [0] Sisestage summa numbritega, ilma kümnendkohtadeta.
       *[other] Sisestage summa numbritega, kuni { $decimals } kümnendkohaga.
    }
currency = Valuuta
currency-error = Sisestage kolmetäheline valuutakood, näiteks EUR.
currency-unknown = Selles valuutas ei saa maksta. Sisestage mõni muu kood, näiteks EUR.
proceed = Edasi

## Card form

card-details = Kaardi andmed
form-error = Parandage märgitud väljad.
card-number = Kaardi number
card-number-error = Sisestage kaardi number, 12 kuni 19 numbrit.
card-number-typo = Kontrollige kaardi numbrit: üks number on vale.
accepted-cards = Vastuvõetavad kaardid
expiry-date = Kehtib kuni
expiry-date-malformed = Sisestage kaardil märgitud kuu ja aasta, näiteks 08/29.
expiry-date-past = Kaart on aegunud. Kontrollige kuupäeva või kasutage teist kaarti.
security-code = Turvakood
security-code-hint = 3 või 4 numbrit kaardil
security-code-error = Sisestage turvakoodi 3 või 4 numbrit.
security-code-back = Sisestage kaardi tagaküljel olevad 3 numbrit.
security-code-front = Sisestage kaardi esiküljel olevad 4 numbrit.
needs-script = Siin maksmiseks lülitage JavaScript sisse ja laadige leht uuesti.
card-saved = Teie kaart salvestatakse edaspidisteks makseteks sellele poele.
receipt-email = E-post kviitungi saamiseks (valikuline)
pay = Maksa { $amount }

## Payment in progress

processing = Teie makset töödeldakse
processing-hint = See leht uueneb automaatselt. Palun ärge makske uuesti.
check-again = Kontrolli uuesti
confirm-payment = Kinnitage makse
simulated-bank = Panga simulatsioon testimiseks
confirm-card = Teie pank küsib: kas teete selle makse kaardiga, mille number lõpeb numbritega { $last4 }?
confirm = Kinnita
cancel = Loobu

## Result

payment-successful = Makse õnnestus
payment-successful-hint = Võite selle lehe sulgeda.
transaction = Tehing
shop = Kaupmees
date = Kuupäev
card = Kaart
reference = Viide
receipt = Kviitung
payment-failed = Makse ebaõnnestus
declined-details = Pank ei aktsepteerinud kaardi andmeid. Kontrollige neid ja proovige uuesti.
declined-expired = Kaart on aegunud. Proovige teist.
declined-funds = Kontol pole piisavalt raha või on kaardi limiit ületatud. Proovige teist kaarti.
declined-bank = Pank lükkas makse tagasi. Proovige teist kaarti või võtke ühendust oma pangaga.
declined-again = Midagi läks valesti, kuid raha ei võetud maha. Palun proovige uuesti.
declined-unsupported = Seda kaarti ei aktsepteerita. Proovige teist.
declined-unconfirmed = Makset ei kinnitatud teie pangas.
declined-shop = Pood ei saa seda makset vastu võtta. Palun pöörduge poe poole.
try-again = Proovi uuesti
back-to-shop = Tagasi poodi

## Problems

link-broken = See makselink ei tööta
link-broken-hint = Küsige poelt uus.
link-used = Seda linki on juba kasutatud
link-expired = See makselink on aegunud
form-expired = See leht on liiga vana
form-expired-hint = Teilt ei võetud raha ja sisestatud andmeid ei salvestatud.
unavailable = Maksmine ei ole praegu võimalik
unavailable-hint = Proovige mõne minuti pärast uuesti. Raha ei võeta kontolt maha kaks korda.
too-many-attempts = Liiga palju katseid
too-many-attempts-hint = Oodake mõni minut ja proovige siis uuesti. Raha ei võetud maha.

## Invitation e-mail

invitation-subject = Kutse: { $merchant }
invitation-greeting = Tere!
invitation-by-app = Rakendus { $app } kutsub teid aitama hallata ettevõtte { $merchant } makseid.
invitation = Teid on kutsutud aitama hallata ettevõtte { $merchant } makseid.
invitation-more = Täpsemalt saab rääkida inimene, kes teid kutsus.
invitation-unexpected = Kui te seda kirja ei oodanud, võite selle tähelepanuta jätta.

## Mails of the desk

invitation-link = Kutse vastuvõtmiseks ja sisselogimiseks avage see leht 72 tunni jooksul:
sign-in-subject = Teie sisselogimislink
sign-in-mail = Avage see leht 15 minuti jooksul brauseris, milles te lingi küsisite:
sign-in-unexpected = Kui te seda linki ei küsinud, võite selle kirja tähelepanuta jätta. Ilma lingita ei saa keegi sisse logida.
receipt-mail = Maksite poele { $merchant } { $amount }. See link näitab 18 kuu jooksul kviitungit ja hilisemaid tagasimakseid:
dispute-subject = Vaidlustus poe { $merchant } makse kohta
dispute-mail = Klient vaidlustab { $amount } poe { $merchant } maksest. Vastata saab kuni { $day }.
payout-subject = Väljamakse poele { $merchant }
payout-mail = { $amount } on teel poe { $merchant } pangakontole.
return-subject = Väljamakse poele { $merchant } tuli tagasi
return-mail = Pank saatis tagasi { $amount }, mis maksti välja poele { $merchant }. Järgmised väljamaksed ootavad, kuni pangakonto on õige.
webhook-subject = Poe { $merchant } veebihaak on välja lülitatud
webhook-mail = Poe { $merchant } rakenduse veebihaak on välja lülitatud, sest selle saadetised ebaõnnestusid. Rakendus ei saa enam maksetest teada.
more-at-desk = Rohkem leiate haldusest, kus valite ka, milliseid teateid saate:

## Desk: sign in

sign-in = Logi sisse
email-address = E-posti aadress
email-address-hint = Saadame teile lingi sisselogimiseks.
email-address-error = Sisestage oma e-posti aadress, näiteks ann@shop.example.
send-link = Saada link
check-mail = Kontrollige oma e-posti
check-mail-hint = Kui aadress { $email } kuulub kasutajale, oleme saatnud lingi. Avage see selles brauseris 15 minuti jooksul.
sign-in-as = Logite sisse kasutajana { $email }.
sign-in-broken = See link ei tööta
sign-in-broken-hint = See on juba kasutatud, liiga vana või mõeldud teise brauseri jaoks.
new-link = Küsi uus link
wait-hint = Oodake mõni minut ja proovige siis uuesti.
desk-unavailable = See leht ei ole praegu kättesaadav

## Desk: every page

merchants = Kaupmehed
test-mark = Test
sign-out = Logi välja
foreign-form = Selle vormi saatis teine veebisait
foreign-form-hint = Midagi ei tehtud. Minge tagasi ja saatke vorm uuesti.
not-found = Seda lehte ei ole olemas
merchant-held = Peatatud: { $reason }
not-approved = See pood ei võta makseid vastu enne, kui operaator selle heaks kiidab

## Desk: payments

payments = Maksed
search = Otsi
more-filters = Veel filtreid
last-four = Kaardi neli viimast numbrit
last-four-error = Sisestage neli numbrit.
from-day = Alates
to-day = Kuni
day-error = Sisestage kuupäev, näiteks 2026-11-28.
state = Olek
all-states = Kõik olekud
nothing-found = Makseid ei leitud.
download-csv = Laadi CSV alla
older-payments = Vanemad maksed
newest-payments = Uusimad maksed
all-merchants = Kõik kaupmehed
balance = Saldo
authorized = Autoriseeritud
captured = Debiteeritud
partly-captured = Osaliselt debiteeritud
refunded = Tagastatud
partly-refunded = Osaliselt tagastatud
voided = Tühistatud
disputed = Vaidlustatud
failed = Ebaõnnestunud
dispute-won = Vaidlus võidetud
dispute-lost = Vaidlus kaotatud
evidence-submitted = Tõendid esitatud
dispute-accepted = Kaotus aktsepteeritud
history = Ajalugu
fees = Teenustasud

## Desk: capture, refund and release

capture = Hõiva
refund = Tagasta
release = Vabasta
at-most = Kuni { $amount }
available = Saadaval
left-afterwards = Alles pärast seda
changed-meanwhile = Makse on vahepeal muutunud. Kontrollige summat.
movement-refused = See ei ole enam võimalik või mitte selle summaga.

## Desk: mails

mails = E-kirjad
mails-hint = Milliseid e-kirju selle poe kohta soovite?
mail-dispute = Klient vaidlustab makse
mail-payout = Saldo makstakse välja
mail-return = Väljamakse tuli tagasi
mail-webhook = Veebihaak on välja lülitatud
save = Salvesta
saved = Salvestatud

## Desk: account

account = Konto
authenticator = Autentimisrakendus
authenticator-works = Teie autentimisrakendus on seadistatud.
authenticator-missing = Enne raha liigutamist või võtmete muutmist on vaja koodi autentimisrakendusest teie telefonis või arvutis.
set-up-authenticator = Seadista autentimisrakendus
remove-authenticator = Eemalda autentimisrakendus
scan-code = Skannige see kood rakendusega.
qr-code = QR-kood
type-secret = Või sisestage rakendusse see võti:
enter-code = Sisestage kood
code = Kood
code-hint = Kuus numbrit autentimisrakendusest või taastekood.
first-code-hint = Kuus numbrit, mida rakendus näitab.
code-error = See kood ei tööta. Sisestage järgmine.
code-locked = Liiga palju valesid koode. Oodake 15 minutit ja proovige siis uuesti.
recovery-codes = Taastekoodid
recovery-codes-hint = Kui rakendus läheb kaduma, sisestage üks neist koodidest. Iga kood töötab ühe korra. Hoidke need kohe kindlas kohas: see leht neid uuesti ei näita.
recovery-codes-left = Taastekoode alles: { $count }
new-recovery-codes = Loo uued taastekoodid
sessions = Kus olete sisse logitud
session-began = Sisse logitud: { $time }
session-used = Viimati kasutatud: { $time }
this-session = See brauser
end-sessions = Logi kõigis teistes brauserites välja

## Desk: balance and disputes

payouts = Väljamaksed
all-payouts = Kõik väljamaksed
payout = Väljamakse
payout-returned = Väljamakse tagastatud
paid-out = Välja makstud
month = Kuu
next-page = Järgmine leht
first-page = Esimene leht
nothing-yet = Veel pole midagi
disputes = Vaidlused
open-disputes = Avatud vaidlused
decided-disputes = Lahendatud vaidlused
days-left = Päevi jäänud: { $days }
inquiry = Päring
evidence = Tõendid
evidence-text = Teie selgitus
evidence-files = Failid
evidence-hint = Kuni 5 PDF-, PNG- või JPEG-faili, kokku 4,5 MB, ja 20 000 märki. Uued failid asendavad salvestatud failid.
submit-evidence = Esita tõendid
submit-evidence-hint = Esitada saab ühe korra. Seejärel otsustab kliendi pank.
accept-dispute = Aktsepteeri kaotus
accept-dispute-hint = Raha jääb kliendile. Seda ei saa tagasi võtta.

## Desk: overview

overview = Ülevaade
next-payout = Ootab järgmist väljamakset
payouts-held = Väljamaksed on peatatud
refused-captures = Kaarditehingute töötleja tagasi lükanud, viimased 30 päeva
disabled-webhooks = Keelatud webhookid
last-days = Laekunud miinus tagastatud, viimased 30 päeva
days-in-utc = Päevad on UTC järgi
as-table = Tabelina
day = Päev

## Desk: people

people = Inimesed
member-since = Liige alates { $time }
invited = Kutsutud
invited-until = Kutsutud: link töötab kuni { $time }
invitation-expired = Kutse on aegunud
invite = Kutsu
invite-hint = Inimene saab e-postiga lingi, mis töötab 72 tundi, ja saab seejärel siin kõike teha.
invite-again = Kutsu uuesti
remove = Kas eemaldada { $name }?
remove-hint = Juurdepääs sellele poele lõpeb kohe.
remove-yourself = Kas eemaldada iseennast?
remove-button = Eemalda
last-member = Viimast liiget ei saa eemaldada. Kutsuge enne keegi.
apps = Rakendused

## Desk: developers

developers = Arendajad
foreign-app = See rakendus töötab ka poodide jaoks, mille liige te ei ole, seega ei saa te selle võtmeid ja veebihaake hallata.
api-keys = API võtmed
created-on = Loodud { $time }
last-used = Viimati kasutatud { $time }
never-used = Pole kasutatud
key-name = Võtme nimi
create-key = Loo võti
key-created = API võti loodud
too-many-keys = Sellel rakendusel on 20 võtit, mis on ülempiir. Eemaldage enne üks.
last-key = Viimast võtit ei saa eemaldada. Looge enne teine.
remove-key-hint = Seda võtit kasutavatest programmidest keeldutakse kohe.
secret-once = Seda näidatakse ainult see kord. Kopeerige see turvalisse kohta.
secret-shown = Seda näidati üks kord ja uuesti näidata ei saa.
webhooks = Veebihaagid
create-webhook = Loo veebihaak
webhook-url = Aadress (URL)
webhook-url-error = Sisestage aadress, mille alguses on https:// ja mis on internetist kättesaadav.
event-types = Sündmused
event-types-hint = Valikuta saadetakse kõik sündmused.
too-many-webhooks = Sellel rakendusel on 20 veebihaaki, mis on ülempiir. Eemaldage enne üks.
enabled = Lubatud
disabled = Keelatud
disabled-failures = Keelatud, sest kohaletoimetamine ebaõnnestus viis päeva
disabled-gone = Keelatud, sest saaja ei soovi enam sündmusi
send-test = Saada test
new-secret = Uus saladus
send-again = Saada sündmused uuesti
new-secret-hint = 24 tunni jooksul allkirjastab ka vana saladus.
send-again-hint = Kõik sündmused alates selle päeva algusest saadetakse uuesti.
remove-webhook-hint = Sellele aadressile ei saadeta enam midagi.
deliveries = Kohaletoimetamised
delivered = Kohale toimetatud
next-attempt = Järgmine katse { $time }

## Desk: payment links

payment-links = Makselingid
link-text = Tekst kliendile
link-text-error = Kasutage vähem märke ning ainult tähti, numbreid ja kirjavahemärke.
link-once = Saab maksta ainult üks kord
link-language = Lehe keel
link-language-browser = Nagu kliendi brauseris
link-unsigned = Sellel poel ei ole linkide võtit, seega pole lingid allkirjastatud: kliendid saavad summat muuta.
make-link = Loo link
payment-link = Makselink

## Desk: log

log = Logi
operator = Operaator
acquirer = Makse vastuvõtja
automatically = Automaatselt
fraud-reported = Pettuse kahtlus
acquirer-refused = Makse vastuvõtja keeldus
merchant-released = Pole enam peatatud
bank-changed = Pangakonto muudetud
invited-again = Uuesti kutsutud
invitation-accepted = Kutse vastu võetud
member-removed = Liige eemaldatud
app-added = Rakendus lisatud
app-removed = Rakendus eemaldatud
key-removed = API võti eemaldatud
webhook-created = Veebihaak loodud
webhook-changed = Veebihaak muudetud
webhook-removed = Veebihaak eemaldatud
