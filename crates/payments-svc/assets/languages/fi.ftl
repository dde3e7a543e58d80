### Finnish

## Every page

payment-to-shop = Maksu: { $shop }
test-payment = Tämä on testi: mitään ei veloiteta.
contact = Kysyttävää tilauksesta
terms = Käyttöehdot
privacy = Tietosuojaseloste
accessibility = Saavutettavuus

## Amount form

amount = Summa
amount-error =
    { $decimals ->
        [0] Anna summa numeroina ilman desimaaleja.
       *[other] Anna summa numeroina. Desimaaleja voi olla enintään { $decimals }.
    }
currency = Valuutta
currency-error = Anna kolmikirjaiminen valuuttakoodi, esimerkiksi EUR.
currency-unknown = Tässä valuutassa ei voi maksaa. Anna toinen koodi, esimerkiksi EUR.
proceed = Jatka

## Card form

card-details = Kortin tiedot
form-error = Korjaa merkityt kentät.
card-number = Kortin numero
card-number-error = Anna kortin numero, 12–19 numeroa.
card-number-typo = Tarkista kortin numero: jokin numero on väärin.
accepted-cards = Hyväksytyt kortit
expiry-date = Voimassa asti
expiry-date-malformed = Anna kortissa oleva kuukausi ja vuosi, esimerkiksi 08/29.
expiry-date-past = Kortti on vanhentunut. Tarkista päivämäärä tai käytä toista korttia.
security-code = Turvakoodi
security-code-hint = 3 tai 4 numeroa kortissa
security-code-error = Anna turvakoodin 3 tai 4 numeroa.
security-code-back = Anna kortin takana olevat 3 numeroa.
security-code-front = Anna kortin etupuolella olevat 4 numeroa.
needs-script = Maksaaksesi täällä ota JavaScript käyttöön ja lataa sivu uudelleen.
card-saved = Korttisi tallennetaan tämän kaupan tulevia maksuja varten.
receipt-email = Sähköposti kuittia varten (valinnainen)
pay = Maksa { $amount }

## Payment in progress

processing = Maksuasi käsitellään
processing-hint = Sivu päivittyy automaattisesti. Älä maksa uudelleen.
check-again = Tarkista uudelleen
confirm-payment = Vahvista maksu
simulated-bank = Pankin simulaatio testejä varten
confirm-card = Pankkisi kysyy: maksatko tämän kortilla, jonka numero päättyy numeroihin { $last4 }?
confirm = Vahvista
cancel = Peruuta

## Result

payment-successful = Maksu onnistui
payment-successful-hint = Voit sulkea tämän sivun.
transaction = Tapahtuma
shop = Kauppias
date = Päivämäärä
card = Kortti
reference = Viite
receipt = Kuitti
payment-failed = Maksu epäonnistui
declined-details = Pankki ei hyväksynyt kortin tietoja. Tarkista ne ja yritä uudelleen.
declined-expired = Kortti on vanhentunut. Kokeile toista.
declined-funds = Tilillä ei ole tarpeeksi rahaa, tai kortin käyttöraja on ylittynyt. Kokeile toista korttia.
declined-bank = Pankki hylkäsi maksun. Kokeile toista korttia tai ota yhteyttä pankkiisi.
declined-again = Jokin meni vikaan, mutta mitään ei veloitettu. Yritä uudelleen.
declined-unsupported = Tätä korttia ei hyväksytä. Kokeile toista.
declined-unconfirmed = Maksua ei vahvistettu pankissasi.
declined-shop = Kauppa ei voi vastaanottaa tätä maksua. Ota yhteyttä kauppaan.
try-again = Yritä uudelleen
back-to-shop = Takaisin kauppaan

## Problems

link-broken = Tämä maksulinkki ei toimi
link-broken-hint = Pyydä kaupalta uusi.
link-used = Tämä linkki on jo käytetty
link-expired = Tämä maksulinkki on vanhentunut
form-expired = Tämä sivu on liian vanha
form-expired-hint = Sinulta ei ole veloitettu mitään, eikä antamiasi tietoja ole tallennettu.
unavailable = Maksaminen ei ole juuri nyt mahdollista
unavailable-hint = Yritä uudelleen muutaman minuutin kuluttua. Mitään ei veloiteta kahdesti.
too-many-attempts = Liian monta yritystä
too-many-attempts-hint = Odota muutama minuutti ja yritä uudelleen. Mitään ei veloitettu.

## Invitation e-mail

invitation-subject = Kutsu: { $merchant }
invitation-greeting = Hei!
invitation-by-app = { $app } on kutsunut sinut auttamaan kauppiaan { $merchant } maksujen hallinnassa.
invitation = Sinut on kutsuttu auttamaan kauppiaan { $merchant } maksujen hallinnassa.
invitation-more = Kutsun lähettäjä voi kertoa lisää.
invitation-unexpected = Jos et odottanut tätä viestiä, voit jättää sen huomiotta.

## Mails of the desk

invitation-link = Hyväksy kutsu ja kirjaudu sisään avaamalla tämä sivu 72 tunnin kuluessa:
sign-in-subject = Kirjautumislinkkisi
sign-in-mail = Avaa tämä sivu 15 minuutin kuluessa samalla selaimella, jolla pyysit linkkiä:
sign-in-unexpected = Jos et pyytänyt tätä linkkiä, voit jättää tämän viestin huomiotta. Kukaan ei voi kirjautua sisään ilman linkkiä.
receipt-mail = Maksoit { $amount } kauppiaalle { $merchant }. Tämä linkki näyttää kuitin ja myöhemmät hyvitykset 18 kuukauden ajan:
dispute-subject = Riitautus kauppiaan { $merchant } maksusta
dispute-mail = Asiakas riitauttaa { $amount } kauppiaan { $merchant } maksusta. Siihen voi vastata { $day } asti.
payout-subject = Tilitys kauppiaalle { $merchant }
payout-mail = { $amount } on matkalla kauppiaan { $merchant } pankkitilille.
return-subject = Tilitys kauppiaalle { $merchant } palautui
return-mail = Pankki palautti { $amount }, joka oli tilitetty kauppiaalle { $merchant }. Seuraavat tilitykset odottavat, kunnes pankkitili on oikein.
webhook-subject = Kauppiaan { $merchant } webhook on poistettu käytöstä
webhook-mail = Kauppiaan { $merchant } sovelluksen webhook on poistettu käytöstä, koska sen toimitukset epäonnistuivat. Sovellus ei enää saa tietoa maksuista.
more-at-desk = Lisää löydät hallinnasta, jossa valitset myös, mitä viestejä saat:

## Desk: sign in

sign-in = Kirjaudu sisään
email-address = Sähköpostiosoite
email-address-hint = Lähetämme sinulle kirjautumislinkin.
email-address-error = Anna sähköpostiosoitteesi, esimerkiksi ann@shop.example.
send-link = Lähetä linkki
check-mail = Tarkista sähköpostisi
check-mail-hint = Jos osoite { $email } kuuluu käyttäjälle, olemme lähettäneet linkin. Avaa se tällä selaimella 15 minuutin kuluessa.
sign-in-as = Kirjaudut sisään osoitteella { $email }.
sign-in-broken = Tämä linkki ei toimi
sign-in-broken-hint = Se on jo käytetty, se on liian vanha tai se on pyydetty toisella selaimella.
new-link = Pyydä uusi linkki
wait-hint = Odota muutama minuutti ja yritä uudelleen.
desk-unavailable = Tämä sivu ei ole juuri nyt käytettävissä

## Desk: every page

merchants = Kauppiaat
test-mark = Testi
sign-out = Kirjaudu ulos
foreign-form = Tämä lomake lähetettiin toiselta sivustolta
foreign-form-hint = Mitään ei tehty. Palaa takaisin ja lähetä lomake uudelleen.
not-found = Tätä sivua ei ole
merchant-held = Pidossa: { $reason }
not-approved = Tämä kauppa ei ota vastaan maksuja ennen kuin operaattori hyväksyy sen

## Desk: payments

payments = Maksut
search = Hae
more-filters = Lisää suodattimia
last-four = Kortin neljä viimeistä numeroa
last-four-error = Anna neljä numeroa.
from-day = Alkupäivä
to-day = Loppupäivä
day-error = Anna päivämäärä, esimerkiksi 2026-11-28.
state = Tila
all-states = Kaikki tilat
nothing-found = Maksuja ei löytynyt.
download-csv = Lataa CSV
older-payments = Vanhemmat maksut
newest-payments = Uusimmat maksut
all-merchants = Kaikki kauppiaat
balance = Saldo
authorized = Varattu
captured = Veloitettu
partly-captured = Osittain veloitettu
refunded = Hyvitetty
partly-refunded = Osittain hyvitetty
voided = Peruutettu
disputed = Riitautettu
failed = Epäonnistunut
dispute-won = Riita voitettu
dispute-lost = Riita hävitty
evidence-submitted = Todisteet lähetetty
dispute-accepted = Tappio hyväksytty
history = Historia
fees = Kulut

## Desk: capture, refund and release

capture = Veloita
refund = Hyvitä
release = Vapauta
at-most = Enintään { $amount }
available = Käytettävissä
left-afterwards = Jäljellä sen jälkeen
changed-meanwhile = Maksu on sillä välin muuttunut. Tarkista summa.
movement-refused = Tämä ei ole enää mahdollista tai ei tällä summalla.

## Desk: mails

mails = Sähköpostit
mails-hint = Mitä sähköposteja haluat tästä kaupasta?
mail-dispute = Asiakas riitauttaa maksun
mail-payout = Saldo tilitetään
mail-return = Tilitys palautui
mail-webhook = Webhook on poistettu käytöstä
save = Tallenna
saved = Tallennettu

## Desk: account

account = Tili
authenticator = Todennussovellus
authenticator-works = Todennussovelluksesi on käytössä.
authenticator-missing = Ennen kuin siirrät rahaa tai muutat avaimia, tarvitset koodin puhelimesi tai tietokoneesi todennussovelluksesta.
set-up-authenticator = Ota todennussovellus käyttöön
remove-authenticator = Poista todennussovellus
scan-code = Skannaa tämä koodi sovelluksella.
qr-code = QR-koodi
type-secret = Tai kirjoita tämä avain sovellukseen:
enter-code = Anna koodi
code = Koodi
code-hint = Kuusi numeroa todennussovelluksesta tai palautuskoodi.
first-code-hint = Sovelluksen näyttämät kuusi numeroa.
code-error = Tämä koodi ei toimi. Anna seuraava.
code-locked = Liian monta väärää koodia. Odota 15 minuuttia ja yritä uudelleen.
recovery-codes = Palautuskoodit
recovery-codes-hint = Jos menetät sovelluksen, anna jokin näistä koodeista. Kukin toimii kerran. Tallenna ne nyt turvalliseen paikkaan: tämä sivu ei näytä niitä uudelleen.
recovery-codes-left = Palautuskoodeja jäljellä: { $count }
new-recovery-codes = Luo uudet palautuskoodit
sessions = Missä olet kirjautuneena
session-began = Kirjauduttu: { $time }
session-used = Viimeksi käytetty: { $time }
this-session = Tämä selain
end-sessions = Kirjaudu ulos kaikista muista selaimista

## Desk: balance and disputes

payouts = Tilitykset
all-payouts = Kaikki tilitykset
payout = Tilitys
payout-returned = Tilitys palautunut
paid-out = Tilitetty
month = Kuukausi
next-page = Seuraava sivu
first-page = Ensimmäinen sivu
nothing-yet = Ei vielä mitään
disputes = Riidat
open-disputes = Avoimet riidat
decided-disputes = Ratkaistut riidat
days-left = Päiviä jäljellä: { $days }
inquiry = Tiedustelu
evidence = Todisteet
evidence-text = Selityksesi
evidence-files = Tiedostot
evidence-hint = Enintään 5 PDF-, PNG- tai JPEG-tiedostoa, yhteensä 4,5 Mt, ja 20 000 merkkiä. Uudet tiedostot korvaavat tallennetut.
submit-evidence = Lähetä todisteet
submit-evidence-hint = Voit lähettää vain kerran. Sen jälkeen asiakkaan pankki päättää.
accept-dispute = Hyväksy tappio
accept-dispute-hint = Asiakas pitää rahat. Tätä ei voi perua.

## Desk: overview

overview = Yleiskatsaus
next-payout = Odottaa seuraavaa tilitystä
payouts-held = Tilitykset ovat pidossa
refused-captures = Korttimaksujen vastaanottaja hylännyt, viimeiset 30 päivää
disabled-webhooks = Käytöstä poistetut webhookit
last-days = Veloitettu miinus palautettu, viimeiset 30 päivää
days-in-utc = Päivät ovat UTC-aikaa
as-table = Taulukkona
day = Päivä

## Desk: people

people = Henkilöt
member-since = Jäsen { $time } alkaen
invited = Kutsuttu
invited-until = Kutsuttu: linkki toimii { $time } asti
invitation-expired = Kutsu on vanhentunut
invite = Kutsu
invite-hint = Henkilö saa sähköpostitse linkin, joka toimii 72 tuntia, ja voi sitten tehdä täällä kaikkea.
invite-again = Kutsu uudelleen
remove = Poistetaanko { $name }?
remove-hint = Pääsy tähän kauppaan päättyy heti.
remove-yourself = Poistatko itsesi?
remove-button = Poista
last-member = Viimeistä jäsentä ei voi poistaa. Kutsu ensin joku.
apps = Sovellukset

## Desk: developers

developers = Kehittäjät
foreign-app = Tämä sovellus toimii myös kaupoissa, joiden jäsen et ole, joten et voi hallita sen avaimia ja webhookeja.
api-keys = API-avaimet
created-on = Luotu { $time }
last-used = Viimeksi käytetty { $time }
never-used = Ei koskaan käytetty
key-name = Avaimen nimi
create-key = Luo avain
key-created = API-avain luotu
too-many-keys = Tällä sovelluksella on 20 avainta, mikä on enimmäismäärä. Poista ensin yksi.
last-key = Viimeistä avainta ei voi poistaa. Luo ensin toinen.
remove-key-hint = Tätä avainta käyttävät ohjelmat hylätään heti.
secret-once = Se näytetään vain tämän kerran. Kopioi se turvalliseen paikkaan.
secret-shown = Se näytettiin kerran, eikä sitä voi näyttää uudelleen.
webhooks = Webhookit
create-webhook = Luo webhook
webhook-url = Osoite (URL)
webhook-url-error = Anna osoite, joka alkaa https:// ja johon pääsee internetistä.
event-types = Tapahtumat
event-types-hint = Ilman valintaa lähetetään kaikki tapahtumat.
too-many-webhooks = Tällä sovelluksella on 20 webhookia, mikä on enimmäismäärä. Poista ensin yksi.
enabled = Käytössä
disabled = Ei käytössä
disabled-failures = Ei käytössä, koska toimitukset epäonnistuivat viisi päivää
disabled-gone = Ei käytössä, koska vastaanottaja ei halua enää tapahtumia
send-test = Lähetä testi
new-secret = Uusi salaisuus
send-again = Lähetä tapahtumat uudelleen
new-secret-hint = 24 tunnin ajan myös vanha salaisuus allekirjoittaa.
send-again-hint = Kaikki tapahtumat tämän päivän alusta lähetetään uudelleen.
remove-webhook-hint = Tähän osoitteeseen ei enää lähetetä mitään.
deliveries = Toimitukset
delivered = Toimitettu
next-attempt = Seuraava yritys { $time }

## Desk: payment links

payment-links = Maksulinkit
link-text = Teksti asiakkaalle
link-text-error = Käytä vähemmän merkkejä ja vain kirjaimia, numeroita ja välimerkkejä.
link-once = Voidaan maksaa vain kerran
link-language = Sivun kieli
link-language-browser = Kuten asiakkaan selaimessa
link-unsigned = Tällä kaupalla ei ole avainta linkeille, joten linkkejä ei allekirjoiteta: asiakkaat voivat muuttaa summaa.
make-link = Luo linkki
payment-link = Maksulinkki

## Desk: log

log = Loki
operator = Operaattori
acquirer = Maksunvälittäjä
automatically = Automaattisesti
fraud-reported = Petosepäily
acquirer-refused = Maksunvälittäjä hylkäsi
merchant-released = Ei enää pidossa
bank-changed = Pankkitili muutettu
invited-again = Kutsuttu uudelleen
invitation-accepted = Kutsu hyväksytty
member-removed = Jäsen poistettu
app-added = Sovellus lisätty
app-removed = Sovellus poistettu
key-removed = API-avain poistettu
webhook-created = Webhook luotu
webhook-changed = Webhookia muutettu
webhook-removed = Webhook poistettu
