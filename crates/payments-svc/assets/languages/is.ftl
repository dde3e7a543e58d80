### Icelandic

## Every page

payment-to-shop = Greiðsla til { $shop }
test-payment = Þetta er prófun: ekkert verður skuldfært.
contact = Spurningar um pöntunina
terms = Skilmálar
privacy = Persónuverndarstefna
accessibility = Aðgengi

## Amount form

amount = Upphæð
amount-error =
    { $decimals ->
        [0] Sláðu inn upphæðina með tölustöfum, án aukastafa.
        [one] Sláðu inn upphæðina með tölustöfum, með að hámarki { $decimals } aukastaf.
       *[other] Sláðu inn upphæðina með tölustöfum, með að hámarki { $decimals } aukastöfum.
    }
currency = Gjaldmiðill
currency-error = Sláðu inn þriggja stafa gjaldmiðilskóða, til dæmis EUR.
currency-unknown = Ekki er hægt að greiða í þessum gjaldmiðli. Sláðu inn annan kóða, til dæmis EUR.
proceed = Halda áfram

## Card form

card-details = Kortaupplýsingar
form-error = Leiðréttu reitina sem eru merktir.
card-number = Kortanúmer
card-number-error = Sláðu inn kortanúmerið, 12 til 19 tölustafi.
card-number-typo = Athugaðu kortanúmerið: einn tölustafur er rangur.
accepted-cards = Kort sem tekið er við
expiry-date = Gildistími
expiry-date-malformed = Sláðu inn mánuð og ár af kortinu, til dæmis 08/29.
expiry-date-past = Kortið er útrunnið. Athugaðu dagsetninguna eða notaðu annað kort.
security-code = Öryggisnúmer
security-code-hint = 3 eða 4 tölustafir á kortinu
security-code-error = Sláðu inn 3 eða 4 tölustafi öryggisnúmersins.
security-code-back = Sláðu inn tölustafina 3 aftan á kortinu.
security-code-front = Sláðu inn tölustafina 4 framan á kortinu.
needs-script = Til að greiða hér skaltu kveikja á JavaScript og endurhlaða síðuna.
card-saved = Kortið þitt verður vistað fyrir síðari greiðslur til þessarar verslunar.
receipt-email = Netfang fyrir kvittunina (valfrjálst)
pay = Greiða { $amount }

## Payment in progress

processing = Verið er að vinna úr greiðslunni
processing-hint = Síðan uppfærist sjálfkrafa. Ekki greiða aftur.
check-again = Athuga aftur
confirm-payment = Staðfestu greiðsluna
simulated-bank = Bankahermir fyrir prófanir
confirm-card = Bankinn þinn spyr: ert þú að greiða með kortinu sem endar á { $last4 }?
confirm = Staðfesta
cancel = Hætta við

## Result

payment-successful = Greiðsla tókst
payment-successful-hint = Þú getur lokað þessari síðu.
transaction = Færsla
shop = Söluaðili
date = Dagsetning
card = Kort
reference = Tilvísun
receipt = Kvittun
payment-failed = Greiðsla mistókst
declined-details = Bankinn samþykkti ekki kortaupplýsingarnar. Athugaðu þær og reyndu aftur.
declined-expired = Kortið er útrunnið. Prófaðu annað.
declined-funds = Ekki er næg innstæða á reikningnum eða farið hefur verið yfir heimild kortsins. Prófaðu annað kort.
declined-bank = Bankinn hafnaði greiðslunni. Prófaðu annað kort eða hafðu samband við bankann þinn.
declined-again = Villa kom upp en ekkert var skuldfært. Reyndu aftur.
declined-unsupported = Ekki er tekið við þessu korti. Prófaðu annað.
declined-unconfirmed = Greiðslan var ekki staðfest hjá bankanum þínum.
declined-shop = Verslunin getur ekki tekið við þessari greiðslu. Hafðu samband við hana.
try-again = Reyna aftur
back-to-shop = Aftur í verslunina

## Problems

link-broken = Þessi greiðslutengill virkar ekki
link-broken-hint = Biddu verslunina um nýjan.
link-used = Þessi hlekkur hefur þegar verið notaður
link-expired = Þessi greiðsluhlekkur er útrunninn
form-expired = Þessi síða er of gömul
form-expired-hint = Ekkert var gjaldfært og ekkert sem þú slóst inn var vistað.
unavailable = Ekki er hægt að greiða í augnablikinu
unavailable-hint = Reyndu aftur eftir nokkrar mínútur. Upphæðin verður ekki skuldfærð tvisvar.
too-many-attempts = Of margar tilraunir
too-many-attempts-hint = Bíddu í nokkrar mínútur og reyndu svo aftur. Ekkert var skuldfært.

## Invitation e-mail

invitation-subject = Boð: { $merchant }
invitation-greeting = Góðan dag.
invitation-by-app = { $app } hefur boðið þér að aðstoða við umsjón með greiðslum hjá { $merchant }.
invitation = Þér hefur verið boðið að aðstoða við umsjón með greiðslum hjá { $merchant }.
invitation-more = Sá sem bauð þér getur veitt nánari upplýsingar.
invitation-unexpected = Ef þú áttir ekki von á þessum skilaboðum geturðu hunsað þau.

## Mails of the desk

invitation-link = Opnaðu þessa síðu innan 72 klukkustunda til að þiggja boðið og skrá þig inn:
sign-in-subject = Hlekkurinn þinn til innskráningar
sign-in-mail = Opnaðu þessa síðu innan 15 mínútna, í vafranum þar sem þú baðst um hlekkinn:
sign-in-unexpected = Ef þú baðst ekki um þennan hlekk geturðu hunsað þessi skilaboð. Enginn getur skráð sig inn án hlekksins.
receipt-mail = Þú greiddir { $amount } til { $merchant }. Þessi hlekkur sýnir kvittunina og síðari endurgreiðslur í 18 mánuði:
dispute-subject = Ágreiningur um greiðslu til { $merchant }
dispute-mail = Viðskiptavinur véfengir { $amount } af greiðslu til { $merchant }. Hægt er að svara til { $day }.
payout-subject = Útborgun til { $merchant }
payout-mail = { $amount } eru á leið inn á bankareikning { $merchant }.
return-subject = Útborgun til { $merchant } kom til baka
return-mail = Bankinn sendi til baka { $amount } sem greidd voru út til { $merchant }. Frekari útborganir bíða þar til bankareikningurinn er réttur.
webhook-subject = Vefkrókur { $merchant } er óvirkur
webhook-mail = Vefkrókur smáforrits { $merchant } er óvirkur, því sendingar hans mistókust. Smáforritið fréttir ekki lengur af greiðslum.
more-at-desk = Þú finnur meira í stjórnborðinu, þar sem þú velur líka hvaða skilaboð þú færð:

## Desk: sign in

sign-in = Innskráning
email-address = Netfang
email-address-hint = Við sendum þér hlekk til innskráningar.
email-address-error = Sláðu inn netfangið þitt, til dæmis ann@shop.example.
send-link = Senda hlekkinn
check-mail = Athugaðu tölvupóstinn þinn
check-mail-hint = Ef { $email } tilheyrir notanda höfum við sent hlekk. Opnaðu hann í þessum vafra innan 15 mínútna.
sign-in-as = Þú skráir þig inn sem { $email }.
sign-in-broken = Þessi hlekkur virkar ekki
sign-in-broken-hint = Hann hefur verið notaður, er of gamall eða tilheyrir öðrum vafra.
new-link = Biðja um nýjan hlekk
wait-hint = Bíddu í nokkrar mínútur og reyndu svo aftur.
desk-unavailable = Þessi síða er ekki aðgengileg í augnablikinu

## Desk: every page

merchants = Söluaðilar
test-mark = Prófun
sign-out = Útskráning
foreign-form = Þetta eyðublað var sent frá öðru vefsvæði
foreign-form-hint = Ekkert var framkvæmt. Farðu til baka og sendu eyðublaðið aftur.
not-found = Þessi síða er ekki til
merchant-held = Í bið: { $reason }
not-approved = Þessi verslun tekur ekki við greiðslum fyrr en rekstraraðilinn samþykkir hana

## Desk: payments

payments = Greiðslur
search = Leita
more-filters = Fleiri síur
last-four = Síðustu fjórir tölustafir kortsins
last-four-error = Sláðu inn fjóra tölustafi.
from-day = Frá
to-day = Til
day-error = Sláðu inn dagsetningu, til dæmis 2026-11-28.
state = Staða
all-states = Allar stöður
nothing-found = Engar greiðslur fundust.
download-csv = Sækja CSV
older-payments = Eldri greiðslur
newest-payments = Nýjustu greiðslur
all-merchants = Allir söluaðilar
balance = Reikningsstaða
authorized = Heimiluð
captured = Skuldfærð
partly-captured = Skuldfærð að hluta
refunded = Endurgreidd
partly-refunded = Endurgreidd að hluta
voided = Afturkölluð
disputed = Véfengd
failed = Mistókst
dispute-won = Ágreiningsmál unnið
dispute-lost = Ágreiningsmál tapað
evidence-submitted = Gögn send
dispute-accepted = Tap samþykkt
history = Ferill
fees = Þóknun

## Desk: capture, refund and release

capture = Innheimta
refund = Endurgreiða
release = Losa
at-most = Í mesta lagi { $amount }
available = Til ráðstöfunar
left-afterwards = Eftir á
changed-meanwhile = Greiðslan hefur breyst í millitíðinni. Athugaðu upphæðina.
movement-refused = Þetta er ekki lengur hægt, eða ekki með þessari upphæð.

## Desk: mails

mails = Tölvupóstur
mails-hint = Hvaða tölvupóst um þessa verslun viltu fá?
mail-dispute = Viðskiptavinur véfengir greiðslu
mail-payout = Staðan er greidd út
mail-return = Útborgun kom til baka
mail-webhook = Vefkrókur er óvirkur
save = Vista
saved = Vistað

## Desk: account

account = Aðgangur
authenticator = Auðkenningarforrit
authenticator-works = Auðkenningarforritið þitt er uppsett.
authenticator-missing = Áður en þú færir peninga eða breytir lyklum þarftu kóða úr auðkenningarforriti í símanum eða tölvunni.
set-up-authenticator = Setja upp auðkenningarforrit
remove-authenticator = Fjarlægja auðkenningarforritið
scan-code = Skannaðu þennan kóða með forritinu.
qr-code = QR-kóði
type-secret = Eða sláðu þennan lykil inn í forritið:
enter-code = Sláðu inn kóðann
code = Kóði
code-hint = Sex tölustafir úr auðkenningarforritinu eða endurheimtarkóði.
first-code-hint = Tölustafirnir sex sem forritið sýnir.
code-error = Þessi kóði virkar ekki. Sláðu inn þann næsta.
code-locked = Of margir rangir kóðar. Bíddu í 15 mínútur og reyndu svo aftur.
recovery-codes = Endurheimtarkóðar
recovery-codes-hint = Ef þú týnir forritinu skaltu slá inn einn þessara kóða. Hver virkar einu sinni. Geymdu þá á öruggum stað núna: þessi síða sýnir þá ekki aftur.
recovery-codes-left = Endurheimtarkóðar eftir: { $count }
new-recovery-codes = Búa til nýja endurheimtarkóða
sessions = Hvar þú ert með opna innskráningu
session-began = Innskráning: { $time }
session-used = Síðast notað: { $time }
this-session = Þessi vafri
end-sessions = Skrá út í öllum öðrum vöfrum

## Desk: balance and disputes

payouts = Útgreiðslur
all-payouts = Allar útgreiðslur
payout = Útgreiðsla
payout-returned = Útgreiðsla endursend
paid-out = Greitt út
month = Mánuður
next-page = Næsta síða
first-page = Fyrsta síða
nothing-yet = Ekkert enn
disputes = Ágreiningsmál
open-disputes = Opin ágreiningsmál
decided-disputes = Útkljáð ágreiningsmál
days-left = Dagar eftir: { $days }
inquiry = Fyrirspurn
evidence = Gögn
evidence-text = Skýring þín
evidence-files = Skrár
evidence-hint = Mest 5 PDF-, PNG- eða JPEG-skrár, samtals 4,5 MB, og 20.000 stafir. Nýjar skrár koma í stað þeirra sem voru vistaðar.
submit-evidence = Senda gögn
submit-evidence-hint = Aðeins er hægt að senda einu sinni. Síðan ákveður banki viðskiptavinarins.
accept-dispute = Samþykkja tapið
accept-dispute-hint = Viðskiptavinurinn heldur peningunum. Þetta er ekki hægt að afturkalla.

## Desk: overview

overview = Yfirlit
next-payout = Bíður næstu útgreiðslu
payouts-held = Útgreiðslur eru í bið
refused-captures = Hafnað af færsluhirði síðustu 30 daga
disabled-webhooks = Óvirkir vefkrókar
last-days = Innheimt að frádregnum endurgreiðslum, síðustu 30 dagar
days-in-utc = Dagar eru í UTC
as-table = Sem tafla
day = Dagur

## Desk: people

people = Fólk
member-since = Meðlimur síðan { $time }
invited = Boðið
invited-until = Boðið: tengillinn virkar til { $time }
invitation-expired = Boðið er útrunnið
invite = Bjóða
invite-hint = Viðkomandi fær tengil í tölvupósti, sem virkar í 72 klukkustundir, og getur síðan gert allt hér.
invite-again = Bjóða aftur
remove = Fjarlægja { $name }?
remove-hint = Aðgangi að þessari verslun lýkur strax.
remove-yourself = Fjarlægja þig?
remove-button = Fjarlægja
last-member = Ekki er hægt að fjarlægja síðasta meðliminn. Bjóddu fyrst einhverjum.
apps = Forrit

## Desk: developers

developers = Forritarar
foreign-app = Þetta forrit vinnur líka fyrir verslanir sem þú ert ekki meðlimur í og því getur þú ekki stjórnað lyklum þess og vefkrókum.
api-keys = API-lyklar
created-on = Búinn til { $time }
last-used = Síðast notaður { $time }
never-used = Aldrei notaður
key-name = Heiti lykils
create-key = Búa til lykil
key-created = API-lykill búinn til
too-many-keys = Þetta forrit hefur 20 lykla, sem er hámarkið. Fjarlægðu fyrst einn.
last-key = Ekki er hægt að fjarlægja síðasta lykilinn. Búðu fyrst til annan.
remove-key-hint = Forritum sem nota þennan lykil er hafnað strax.
secret-once = Þetta er aðeins sýnt í þetta eina skipti. Afritaðu það á öruggan stað.
secret-shown = Þetta var sýnt einu sinni og er ekki hægt að sýna aftur.
webhooks = Vefkrókar
create-webhook = Búa til vefkrók
webhook-url = Vistfang (URL)
webhook-url-error = Sláðu inn vistfang sem byrjar á https:// og næst í af netinu.
event-types = Atburðir
event-types-hint = Ef ekkert er valið eru allir atburðir sendir.
too-many-webhooks = Þetta forrit hefur 20 vefkróka, sem er hámarkið. Fjarlægðu fyrst einn.
enabled = Virkur
disabled = Óvirkur
disabled-failures = Óvirkur, því sendingar mistókust í fimm daga
disabled-gone = Óvirkur, því viðtakandinn vill ekki fleiri atburði
send-test = Senda prófun
new-secret = Nýr leynilykill
send-again = Senda atburði aftur
new-secret-hint = Í 24 klukkustundir undirritar gamli leynilykillinn líka.
send-again-hint = Allir atburðir frá upphafi þessa dags eru sendir aftur.
remove-webhook-hint = Ekkert meira er sent á þetta vistfang.
deliveries = Sendingar
delivered = Afhent
next-attempt = Næsta tilraun { $time }

## Desk: payment links

payment-links = Greiðslutenglar
link-text = Texti fyrir viðskiptavininn
link-text-error = Notaðu færri stafi, og aðeins bókstafi, tölustafi og greinarmerki.
link-once = Aðeins hægt að greiða einu sinni
link-language = Tungumál síðunnar
link-language-browser = Eins og í vafra viðskiptavinarins
link-unsigned = Þessi verslun hefur engan lykil fyrir tengla og því eru þeir ekki undirritaðir: viðskiptavinir geta breytt upphæðinni.
make-link = Búa til tengilinn
payment-link = Greiðslutengill

## Desk: log

log = Atburðaskrá
operator = Rekstraraðili
acquirer = Færsluhirðir
automatically = Sjálfvirkt
fraud-reported = Grunur um svik
acquirer-refused = Hafnað af færsluhirði
merchant-released = Ekki lengur í bið
bank-changed = Bankareikningi breytt
invited-again = Boðið aftur
invitation-accepted = Boð þegið
member-removed = Meðlimur fjarlægður
app-added = Forriti bætt við
app-removed = Forrit fjarlægt
key-removed = API-lykill fjarlægður
webhook-created = Vefkrókur búinn til
webhook-changed = Vefkróki breytt
webhook-removed = Vefkrókur fjarlægður
