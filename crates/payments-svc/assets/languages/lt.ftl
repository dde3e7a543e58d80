### Lithuanian

## Every page

payment-to-shop = Mokėjimas: { $shop }
test-payment = Tai bandymas: pinigai nebus nuskaičiuoti.
contact = Klausimai apie užsakymą
terms = Taisyklės ir sąlygos
privacy = Privatumo politika
accessibility = Prieinamumas

## Amount form

amount = Suma
amount-error =
    { $decimals ->
        [0] Įveskite sumą sveikuoju skaičiumi.
        [one] Įveskite sumą skaitmenimis, po kablelio ne daugiau kaip { $decimals } skaitmenį.
        [few] Įveskite sumą skaitmenimis, po kablelio ne daugiau kaip { $decimals } skaitmenis.
       *[other] Įveskite sumą skaitmenimis, po kablelio ne daugiau kaip { $decimals } skaitmenų.
    }
currency = Valiuta
currency-error = Įveskite trijų raidžių valiutos kodą, pavyzdžiui, EUR.
currency-unknown = Mokėti šia valiuta negalima. Įveskite kitą kodą, pavyzdžiui, EUR.
proceed = Tęsti

## Card form

card-details = Kortelės duomenys
form-error = Pataisykite pažymėtus laukus.
card-number = Kortelės numeris
card-number-error = Įveskite kortelės numerį, nuo 12 iki 19 skaitmenų.
card-number-typo = Patikrinkite kortelės numerį: vienas skaitmuo neteisingas.
accepted-cards = Priimamos kortelės
expiry-date = Galioja iki
expiry-date-malformed = Įveskite ant kortelės nurodytą mėnesį ir metus, pavyzdžiui, 08/29.
expiry-date-past = Kortelės galiojimo laikas baigėsi. Patikrinkite datą arba naudokite kitą kortelę.
security-code = Saugos kodas
security-code-hint = 3 arba 4 skaitmenys ant kortelės
security-code-error = Įveskite 3 arba 4 saugos kodo skaitmenis.
security-code-back = Įveskite 3 skaitmenis kitoje kortelės pusėje.
security-code-front = Įveskite 4 skaitmenis priekinėje kortelės pusėje.
needs-script = Norėdami čia sumokėti, įjunkite JavaScript ir įkelkite puslapį iš naujo.
card-saved = Jūsų kortelė bus išsaugota būsimiems mokėjimams šiai parduotuvei.
receipt-email = El. paštas kvitui gauti (neprivaloma)
pay = Mokėti { $amount }

## Payment in progress

processing = Jūsų mokėjimas apdorojamas
processing-hint = Šis puslapis atsinaujina automatiškai. Nemokėkite dar kartą.
check-again = Tikrinti dar kartą
confirm-payment = Patvirtinkite mokėjimą
simulated-bank = Banko imitacija bandymams
confirm-card = Jūsų bankas klausia: ar jūs mokate kortele, kurios numeris baigiasi skaitmenimis { $last4 }?
confirm = Patvirtinti
cancel = Atšaukti

## Result

payment-successful = Mokėjimas atliktas sėkmingai
payment-successful-hint = Galite uždaryti šį puslapį.
transaction = Operacija
shop = Prekybininkas
date = Data
card = Kortelė
reference = Nuoroda
receipt = Kvitas
payment-failed = Mokėjimas nepavyko
declined-details = Bankas nepriėmė kortelės duomenų. Patikrinkite juos ir bandykite dar kartą.
declined-expired = Kortelės galiojimo laikas baigėsi. Naudokite kitą kortelę.
declined-funds = Sąskaitoje nepakanka lėšų arba viršytas kortelės limitas. Naudokite kitą kortelę.
declined-bank = Bankas atmetė mokėjimą. Naudokite kitą kortelę arba kreipkitės į savo banką.
declined-again = Įvyko klaida, pinigai nenuskaičiuoti. Bandykite dar kartą.
declined-unsupported = Ši kortelė nepriimama. Naudokite kitą.
declined-unconfirmed = Mokėjimas nebuvo patvirtintas jūsų banke.
declined-shop = Parduotuvė negali priimti šio mokėjimo. Kreipkitės į parduotuvę.
try-again = Bandyti dar kartą
back-to-shop = Grįžti į parduotuvę

## Problems

link-broken = Ši mokėjimo nuoroda neveikia
link-broken-hint = Paprašykite parduotuvės naujos.
link-used = Ši nuoroda jau panaudota
link-expired = Šios mokėjimo nuorodos galiojimas baigėsi
form-expired = Šis puslapis per senas
form-expired-hint = Pinigai nenuskaityti, o jūsų įvesti duomenys neišsaugoti.
unavailable = Šiuo metu atlikti mokėjimo neįmanoma
unavailable-hint = Bandykite dar kartą po kelių minučių. Pinigai nebus nuskaičiuoti du kartus.
too-many-attempts = Per daug bandymų
too-many-attempts-hint = Palaukite kelias minutes ir bandykite dar kartą. Pinigai nenuskaičiuoti.

## Invitation e-mail

invitation-subject = Kvietimas: { $merchant }
invitation-greeting = Sveiki!
invitation-by-app = Programa „{ $app }“ kviečia jus padėti tvarkyti prekybininko „{ $merchant }“ mokėjimus.
invitation = Kviečiame jus padėti tvarkyti prekybininko „{ $merchant }“ mokėjimus.
invitation-more = Daugiau gali papasakoti jus pakvietęs asmuo.
invitation-unexpected = Jei šio laiško nesitikėjote, galite į jį nekreipti dėmesio.

## Mails of the desk

invitation-link = Norėdami priimti kvietimą ir prisijungti, per 72 valandas atverkite šį puslapį:
sign-in-subject = Jūsų prisijungimo nuoroda
sign-in-mail = Per 15 minučių atverkite šį puslapį naršyklėje, kurioje paprašėte nuorodos:
sign-in-unexpected = Jei šios nuorodos neprašėte, galite į šį laišką nekreipti dėmesio. Be nuorodos niekas negali prisijungti.
receipt-mail = Sumokėjote { $amount } parduotuvei „{ $merchant }“. Ši nuoroda 18 mėnesių rodo kvitą ir vėlesnius grąžinimus:
dispute-subject = Ginčijamas „{ $merchant }“ mokėjimas
dispute-mail = Klientas ginčija { $amount } iš „{ $merchant }“ mokėjimo. Atsakyti galima iki { $day }.
payout-subject = Išmokėjimas „{ $merchant }“
payout-mail = { $amount } pakeliui į „{ $merchant }“ banko sąskaitą.
return-subject = Išmokėjimas „{ $merchant }“ grįžo
return-mail = Bankas grąžino { $amount }, išmokėtus „{ $merchant }“. Kiti išmokėjimai laukia, kol banko sąskaita bus teisinga.
webhook-subject = „{ $merchant }“ webhook išjungtas
webhook-mail = „{ $merchant }“ programėlės webhook išjungtas, nes jo pristatymai nepavyko. Programėlė nebegauna žinių apie mokėjimus.
more-at-desk = Daugiau rasite valdymo puslapyje, kur taip pat pasirenkate, kokius pranešimus gauti:

## Desk: sign in

sign-in = Prisijungti
email-address = El. pašto adresas
email-address-hint = Atsiųsime jums prisijungimo nuorodą.
email-address-error = Įveskite savo el. pašto adresą, pavyzdžiui, ann@shop.example.
send-link = Siųsti nuorodą
check-mail = Patikrinkite el. paštą
check-mail-hint = Jei adresas { $email } priklauso naudotojui, išsiuntėme nuorodą. Atverkite ją šioje naršyklėje per 15 minučių.
sign-in-as = Prisijungiate kaip { $email }.
sign-in-broken = Ši nuoroda neveikia
sign-in-broken-hint = Ji jau panaudota, per sena arba skirta kitai naršyklei.
new-link = Prašyti naujos nuorodos
wait-hint = Palaukite kelias minutes ir bandykite dar kartą.
desk-unavailable = Šis puslapis šiuo metu nepasiekiamas

## Desk: every page

merchants = Prekybininkai
test-mark = Bandymas
sign-out = Atsijungti
foreign-form = Šią formą išsiuntė kita svetainė
foreign-form-hint = Nieko nebuvo atlikta. Grįžkite atgal ir išsiųskite formą dar kartą.
not-found = Šio puslapio nėra
merchant-held = Sustabdyta: { $reason }
not-approved = Ši parduotuvė nepriima mokėjimų, kol operatorius jos nepatvirtina

## Desk: payments

payments = Mokėjimai
search = Ieškoti
more-filters = Daugiau filtrų
last-four = Paskutiniai keturi kortelės skaitmenys
last-four-error = Įveskite keturis skaitmenis.
from-day = Nuo
to-day = Iki
day-error = Įveskite datą, pavyzdžiui, 2026-11-28.
state = Būsena
all-states = Visos būsenos
nothing-found = Mokėjimų nerasta.
download-csv = Atsisiųsti CSV
older-payments = Senesni mokėjimai
newest-payments = Naujausi mokėjimai
all-merchants = Visi prekybininkai
balance = Likutis
authorized = Autorizuotas
captured = Nuskaičiuotas
partly-captured = Iš dalies nuskaičiuotas
refunded = Grąžintas
partly-refunded = Iš dalies grąžintas
voided = Atšauktas
disputed = Ginčijamas
failed = Nepavykęs
dispute-won = Ginčas laimėtas
dispute-lost = Ginčas pralaimėtas
evidence-submitted = Įrodymai pateikti
dispute-accepted = Nuostolis priimtas
history = Istorija
fees = Komisiniai

## Desk: capture, refund and release

capture = Nurašyti
refund = Grąžinti
release = Atlaisvinti
at-most = Daugiausia { $amount }
available = Galima
left-afterwards = Lieka po to
changed-meanwhile = Mokėjimas tuo metu pasikeitė. Patikrinkite sumą.
movement-refused = To nebegalima padaryti arba negalima su šia suma.

## Desk: mails

mails = El. laiškai
mails-hint = Kokių el. laiškų apie šią parduotuvę norite?
mail-dispute = Klientas ginčija mokėjimą
mail-payout = Likutis išmokamas
mail-return = Išmokėjimas grįžo
mail-webhook = Webhook išjungtas
save = Išsaugoti
saved = Išsaugota

## Desk: account

account = Paskyra
authenticator = Autentifikavimo programėlė
authenticator-works = Jūsų autentifikavimo programėlė nustatyta.
authenticator-missing = Prieš judinant pinigus ar keičiant raktus reikia kodo iš autentifikavimo programėlės jūsų telefone ar kompiuteryje.
set-up-authenticator = Nustatyti autentifikavimo programėlę
remove-authenticator = Pašalinti autentifikavimo programėlę
scan-code = Nuskaitykite šį kodą programėle.
qr-code = QR kodas
type-secret = Arba įveskite šį raktą į programėlę:
enter-code = Įveskite kodą
code = Kodas
code-hint = Šeši skaitmenys iš autentifikavimo programėlės arba atkūrimo kodas.
first-code-hint = Šeši skaitmenys, kuriuos rodo programėlė.
code-error = Šis kodas netinka. Įveskite kitą.
code-locked = Per daug neteisingų kodų. Palaukite 15 minučių ir bandykite dar kartą.
recovery-codes = Atkūrimo kodai
recovery-codes-hint = Jei prarasite programėlę, įveskite vieną iš šių kodų. Kiekvienas tinka vieną kartą. Iškart pasidėkite juos saugioje vietoje: šis puslapis jų daugiau neparodys.
recovery-codes-left = Liko atkūrimo kodų: { $count }
new-recovery-codes = Sukurti naujus atkūrimo kodus
sessions = Kur esate prisijungę
session-began = Prisijungta: { $time }
session-used = Paskutinį kartą naudota: { $time }
this-session = Ši naršyklė
end-sessions = Atsijungti visose kitose naršyklėse

## Desk: balance and disputes

payouts = Išmokos
all-payouts = Visos išmokos
payout = Išmoka
payout-returned = Išmoka grąžinta
paid-out = Išmokėta
month = Mėnuo
next-page = Kitas puslapis
first-page = Pirmas puslapis
nothing-yet = Kol kas nieko nėra
disputes = Ginčai
open-disputes = Atviri ginčai
decided-disputes = Išspręsti ginčai
days-left = Liko dienų: { $days }
inquiry = Užklausa
evidence = Įrodymai
evidence-text = Jūsų paaiškinimas
evidence-files = Failai
evidence-hint = Daugiausia 5 PDF, PNG ar JPEG failai, iš viso 4,5 MB, ir 20 000 ženklų. Nauji failai pakeičia įrašytuosius.
submit-evidence = Pateikti įrodymus
submit-evidence-hint = Pateikti galima vieną kartą. Tada sprendžia kliento bankas.
accept-dispute = Priimti nuostolį
accept-dispute-hint = Pinigai lieka klientui. To atšaukti negalima.

## Desk: overview

overview = Apžvalga
next-payout = Laukia kitos išmokos
payouts-held = Išmokos sustabdytos
refused-captures = Atmetė kortelių aptarnautojas, paskutinės 30 dienų
disabled-webhooks = Išjungti „webhook“ adresai
last-days = Nuskaityta atėmus grąžintas sumas, paskutinės 30 dienų
days-in-utc = Dienos skaičiuojamos UTC laiku
as-table = Kaip lentelė
day = Diena

## Desk: people

people = Žmonės
member-since = Narys nuo { $time }
invited = Pakviestas
invited-until = Pakviestas: nuoroda veikia iki { $time }
invitation-expired = Kvietimas nebegalioja
invite = Pakviesti
invite-hint = Asmuo el. paštu gauna nuorodą, kuri veikia 72 valandas, ir tada čia gali daryti viską.
invite-again = Pakviesti iš naujo
remove = Pašalinti { $name }?
remove-hint = Prieiga prie šios parduotuvės iškart baigiasi.
remove-yourself = Pašalinti save?
remove-button = Pašalinti
last-member = Paskutinio nario pašalinti negalima. Pirmiausia ką nors pakvieskite.
apps = Programėlės

## Desk: developers

developers = Kūrėjai
foreign-app = Ši programėlė dirba ir parduotuvėms, kurių narys nesate, todėl negalite valdyti jos raktų ir webhook adresų.
api-keys = API raktai
created-on = Sukurtas { $time }
last-used = Paskutinį kartą naudotas { $time }
never-used = Nenaudotas
key-name = Rakto pavadinimas
create-key = Sukurti raktą
key-created = API raktas sukurtas
too-many-keys = Ši programėlė turi 20 raktų, tai daugiausia. Pirmiausia vieną pašalinkite.
last-key = Paskutinio rakto pašalinti negalima. Pirmiausia sukurkite kitą.
remove-key-hint = Šį raktą naudojančios programos iškart atmetamos.
secret-once = Rodoma tik šį kartą. Nukopijuokite į saugią vietą.
secret-shown = Buvo parodyta vieną kartą ir nebegali būti rodoma.
webhooks = Webhook adresai
create-webhook = Sukurti webhook
webhook-url = Adresas (URL)
webhook-url-error = Įveskite adresą, kuris prasideda https:// ir pasiekiamas iš interneto.
event-types = Įvykiai
event-types-hint = Nieko nepasirinkus, siunčiami visi įvykiai.
too-many-webhooks = Ši programėlė turi 20 webhook adresų, tai daugiausia. Pirmiausia vieną pašalinkite.
enabled = Įjungtas
disabled = Išjungtas
disabled-failures = Išjungtas, nes siuntimas nepavyko penkias dienas
disabled-gone = Išjungtas, nes gavėjas nebenori įvykių
send-test = Siųsti bandymą
new-secret = Nauja paslaptis
send-again = Siųsti įvykius iš naujo
new-secret-hint = 24 valandas pasirašo ir senoji paslaptis.
send-again-hint = Visi įvykiai nuo šios dienos pradžios siunčiami iš naujo.
remove-webhook-hint = Šiuo adresu daugiau nieko nesiunčiama.
deliveries = Siuntimai
delivered = Pristatyta
next-attempt = Kitas bandymas { $time }

## Desk: payment links

payment-links = Mokėjimo nuorodos
link-text = Tekstas klientui
link-text-error = Naudokite mažiau ženklų ir tik raides, skaitmenis bei skyrybos ženklus.
link-once = Galima sumokėti tik vieną kartą
link-language = Puslapio kalba
link-language-browser = Kaip kliento naršyklėje
link-unsigned = Ši parduotuvė neturi nuorodų rakto, todėl nuorodos nepasirašytos: klientai gali pakeisti sumą.
make-link = Sukurti nuorodą
payment-link = Mokėjimo nuoroda

## Desk: log

log = Žurnalas
operator = Operatorius
acquirer = Aptarnaujantis bankas
automatically = Automatiškai
fraud-reported = Sukčiavimo įtarimas
acquirer-refused = Atmetė aptarnaujantis bankas
merchant-released = Nebesustabdyta
bank-changed = Banko sąskaita pakeista
invited-again = Pakviestas iš naujo
invitation-accepted = Kvietimas priimtas
member-removed = Narys pašalintas
app-added = Programėlė pridėta
app-removed = Programėlė pašalinta
key-removed = API raktas pašalintas
webhook-created = Webhook sukurtas
webhook-changed = Webhook pakeistas
webhook-removed = Webhook pašalintas
