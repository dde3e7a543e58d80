### Latvian

## Every page

payment-to-shop = Maksājums: { $shop }
test-payment = Šis ir tests: nauda netiks ieturēta.
contact = Jautājumi par pasūtījumu
terms = Noteikumi un nosacījumi
privacy = Privātuma politika
accessibility = Piekļūstamība

## Amount form

amount = Summa
amount-error =
    { $decimals ->
        [0] Ievadiet summu ar cipariem, bez zīmēm aiz komata.
        [one] Ievadiet summu ar cipariem, aiz komata ne vairāk kā { $decimals } cipars.
       *[other] Ievadiet summu ar cipariem, aiz komata ne vairāk kā { $decimals } cipari.
    }
currency = Valūta
currency-error = Ievadiet trīs burtu valūtas kodu, piemēram, EUR.
currency-unknown = Šajā valūtā nevar maksāt. Ievadiet citu kodu, piemēram, EUR.
proceed = Turpināt

## Card form

card-details = Kartes dati
form-error = Lūdzu, izlabojiet atzīmētos laukus.
card-number = Kartes numurs
card-number-error = Ievadiet kartes numuru (12–19 cipari).
card-number-typo = Pārbaudiet kartes numuru: viens cipars ir nepareizs.
accepted-cards = Pieņemtās kartes
expiry-date = Derīga līdz
expiry-date-malformed = Ievadiet mēnesi un gadu, kas norādīti uz kartes, piemēram, 08/29.
expiry-date-past = Kartes derīguma termiņš ir beidzies. Pārbaudiet datumu vai izmantojiet citu karti.
security-code = Drošības kods
security-code-hint = 3 vai 4 cipari uz kartes
security-code-error = Ievadiet drošības koda 3 vai 4 ciparus.
security-code-back = Ievadiet 3 ciparus kartes aizmugurē.
security-code-front = Ievadiet 4 ciparus kartes priekšpusē.
needs-script = Lai maksātu šeit, ieslēdziet JavaScript un pārlādējiet lapu.
card-saved = Jūsu karte tiks saglabāta turpmākiem maksājumiem šim veikalam.
receipt-email = E-pasts kvīts saņemšanai (neobligāti)
pay = Maksāt { $amount }

## Payment in progress

processing = Jūsu maksājums tiek apstrādāts
processing-hint = Šī lapa atjaunojas automātiski. Lūdzu, nemaksājiet vēlreiz.
check-again = Pārbaudīt vēlreiz
confirm-payment = Apstipriniet maksājumu
simulated-bank = Bankas simulācija testiem
confirm-card = Jūsu banka jautā: vai jūs veicat šo maksājumu ar karti, kuras numurs beidzas ar { $last4 }?
confirm = Apstiprināt
cancel = Atcelt

## Result

payment-successful = Maksājums veikts
payment-successful-hint = Varat aizvērt šo lapu.
transaction = Darījums
shop = Tirgotājs
date = Datums
card = Karte
reference = Atsauce
receipt = Kvīts
payment-failed = Maksājums neizdevās
declined-details = Banka nepieņēma kartes datus. Pārbaudiet tos un mēģiniet vēlreiz.
declined-expired = Kartes derīguma termiņš ir beidzies. Izmēģiniet citu karti.
declined-funds = Kontā nepietiek naudas, vai arī ir pārsniegts kartes limits. Izmēģiniet citu karti.
declined-bank = Banka noraidīja maksājumu. Izmēģiniet citu karti vai sazinieties ar savu banku.
declined-again = Radās kļūda, taču nauda netika ieturēta. Lūdzu, mēģiniet vēlreiz.
declined-unsupported = Šī karte netiek pieņemta. Izmēģiniet citu.
declined-unconfirmed = Maksājums netika apstiprināts jūsu bankā.
declined-shop = Veikals nevar pieņemt šo maksājumu. Lūdzu, sazinieties ar veikalu.
try-again = Mēģināt vēlreiz
back-to-shop = Atpakaļ uz veikalu

## Problems

link-broken = Šī maksājuma saite nedarbojas
link-broken-hint = Palūdziet veikalam jaunu.
link-used = Šī saite jau ir izmantota
link-expired = Šīs maksājuma saites derīguma termiņš ir beidzies
form-expired = Šī lapa ir pārāk veca
form-expired-hint = Nauda netika noņemta, un nekas no ievadītā netika saglabāts.
unavailable = Pašlaik samaksāt nav iespējams
unavailable-hint = Mēģiniet vēlreiz pēc dažām minūtēm. Nauda netiks ieturēta divreiz.
too-many-attempts = Pārāk daudz mēģinājumu
too-many-attempts-hint = Uzgaidiet dažas minūtes un mēģiniet vēlreiz. Nauda netika ieturēta.

## Invitation e-mail

invitation-subject = Uzaicinājums: { $merchant }
invitation-greeting = Labdien!
invitation-by-app = Lietotne “{ $app }” aicina jūs palīdzēt pārvaldīt tirgotāja “{ $merchant }” maksājumus.
invitation = Jums ir nosūtīts uzaicinājums palīdzēt pārvaldīt tirgotāja “{ $merchant }” maksājumus.
invitation-more = Plašāk var pastāstīt persona, kas jūs uzaicināja.
invitation-unexpected = Ja šo ziņu negaidījāt, varat to neņemt vērā.

## Mails of the desk

invitation-link = Lai pieņemtu uzaicinājumu un pieslēgtos, atveriet šo lapu 72 stundu laikā:
sign-in-subject = Jūsu pieslēgšanās saite
sign-in-mail = Atveriet šo lapu 15 minūšu laikā pārlūkprogrammā, kurā pieprasījāt saiti:
sign-in-unexpected = Ja šo saiti nepieprasījāt, varat šo ziņu neņemt vērā. Bez saites neviens nevar pieslēgties.
receipt-mail = Jūs samaksājāt { $amount } saņēmējam { $merchant }. Šī saite 18 mēnešus rāda kvīti un vēlākas atmaksas:
dispute-subject = Strīds par { $merchant } maksājumu
dispute-mail = Klients apstrīd { $amount } no { $merchant } maksājuma. Atbildēt var līdz { $day }.
payout-subject = Izmaksa { $merchant }
payout-mail = { $amount } ir ceļā uz { $merchant } bankas kontu.
return-subject = Izmaksa { $merchant } atgriezās
return-mail = Banka atsūtīja atpakaļ { $amount }, kas bija izmaksāti { $merchant }. Nākamās izmaksas gaida, līdz bankas konts būs pareizs.
webhook-subject = { $merchant } tīmekļa āķis ir atspējots
webhook-mail = { $merchant } lietotnes tīmekļa āķis ir atspējots, jo tā piegādes neizdevās. Lietotne vairs neuzzina par maksājumiem.
more-at-desk = Vairāk atradīsiet pārvaldībā, kur arī izvēlaties, kurus ziņojumus saņemt:

## Desk: sign in

sign-in = Pieslēgties
email-address = E-pasta adrese
email-address-hint = Mēs nosūtīsim jums pieslēgšanās saiti.
email-address-error = Ievadiet savu e-pasta adresi, piemēram, ann@shop.example.
send-link = Nosūtīt saiti
check-mail = Pārbaudiet e-pastu
check-mail-hint = Ja adrese { $email } pieder lietotājam, mēs esam nosūtījuši saiti. Atveriet to šajā pārlūkprogrammā 15 minūšu laikā.
sign-in-as = Jūs pieslēdzaties kā { $email }.
sign-in-broken = Šī saite nedarbojas
sign-in-broken-hint = Tā jau ir izmantota, ir pārāk veca vai ir paredzēta citai pārlūkprogrammai.
new-link = Pieprasīt jaunu saiti
wait-hint = Uzgaidiet dažas minūtes un mēģiniet vēlreiz.
desk-unavailable = Šī lapa pašlaik nav pieejama

## Desk: every page

merchants = Tirgotāji
test-mark = Tests
sign-out = Iziet
foreign-form = Šo veidlapu nosūtīja cita vietne
foreign-form-hint = Nekas netika izdarīts. Atgriezieties un nosūtiet veidlapu vēlreiz.
not-found = Šādas lapas nav
merchant-held = Apturēts: { $reason }
not-approved = Šis veikals nepieņem maksājumus, kamēr operators to nav apstiprinājis

## Desk: payments

payments = Maksājumi
search = Meklēt
more-filters = Vairāk filtru
last-four = Pēdējie četri kartes cipari
last-four-error = Ievadiet četrus ciparus.
from-day = No
to-day = Līdz
day-error = Ievadiet datumu, piemēram, 2026-11-28.
state = Statuss
all-states = Visi statusi
nothing-found = Maksājumi netika atrasti.
download-csv = Lejupielādēt CSV
older-payments = Vecāki maksājumi
newest-payments = Jaunākie maksājumi
all-merchants = Visi tirgotāji
balance = Atlikums
authorized = Autorizēts
captured = Iekasēts
partly-captured = Daļēji iekasēts
refunded = Atmaksāts
partly-refunded = Daļēji atmaksāts
voided = Atcelts
disputed = Apstrīdēts
failed = Neizdevies
dispute-won = Strīds uzvarēts
dispute-lost = Strīds zaudēts
evidence-submitted = Pierādījumi iesniegti
dispute-accepted = Zaudējums pieņemts
history = Vēsture
fees = Komisijas maksa

## Desk: capture, refund and release

capture = Iekasēt
refund = Atmaksāt
release = Atbrīvot
at-most = Ne vairāk kā { $amount }
available = Pieejams
left-afterwards = Pēc tam paliek
changed-meanwhile = Maksājums pa to laiku ir mainījies. Pārbaudiet summu.
movement-refused = Tas vairs nav iespējams vai nav iespējams ar šo summu.

## Desk: mails

mails = E-pasti
mails-hint = Kurus e-pastus par šo veikalu vēlaties?
mail-dispute = Klients apstrīd maksājumu
mail-payout = Atlikums tiek izmaksāts
mail-return = Izmaksa atgriezās
mail-webhook = Tīmekļa āķis ir atspējots
save = Saglabāt
saved = Saglabāts

## Desk: account

account = Konts
authenticator = Autentifikācijas lietotne
authenticator-works = Jūsu autentifikācijas lietotne ir iestatīta.
authenticator-missing = Pirms pārvietojat naudu vai maināt atslēgas, ir vajadzīgs kods no autentifikācijas lietotnes jūsu tālrunī vai datorā.
set-up-authenticator = Iestatīt autentifikācijas lietotni
remove-authenticator = Noņemt autentifikācijas lietotni
scan-code = Noskenējiet šo kodu ar lietotni.
qr-code = QR kods
type-secret = Vai ievadiet lietotnē šo atslēgu:
enter-code = Ievadiet kodu
code = Kods
code-hint = Seši cipari no autentifikācijas lietotnes vai atkopšanas kods.
first-code-hint = Seši cipari, ko rāda lietotne.
code-error = Šis kods nedarbojas. Ievadiet nākamo.
code-locked = Pārāk daudz nepareizu kodu. Uzgaidiet 15 minūtes un mēģiniet vēlreiz.
recovery-codes = Atkopšanas kodi
recovery-codes-hint = Ja pazaudējat lietotni, ievadiet vienu no šiem kodiem. Katrs darbojas vienu reizi. Saglabājiet tos tagad drošā vietā: šī lapa tos vairs nerādīs.
recovery-codes-left = Atlikušie atkopšanas kodi: { $count }
new-recovery-codes = Izveidot jaunus atkopšanas kodus
sessions = Kur esat pieslēdzies
session-began = Pieslēgšanās: { $time }
session-used = Pēdējoreiz lietots: { $time }
this-session = Šī pārlūkprogramma
end-sessions = Iziet visās citās pārlūkprogrammās

## Desk: balance and disputes

payouts = Izmaksas
all-payouts = Visas izmaksas
payout = Izmaksa
payout-returned = Izmaksa atgriezta
paid-out = Izmaksāts
month = Mēnesis
next-page = Nākamā lapa
first-page = Pirmā lapa
nothing-yet = Pagaidām nekā nav
disputes = Strīdi
open-disputes = Atvērtie strīdi
decided-disputes = Izlemtie strīdi
days-left = Atlikušas dienas: { $days }
inquiry = Pieprasījums
evidence = Pierādījumi
evidence-text = Jūsu paskaidrojums
evidence-files = Faili
evidence-hint = Ne vairāk kā 5 PDF, PNG vai JPEG faili, kopā 4,5 MB, un 20 000 rakstzīmju. Jaunie faili aizstāj saglabātos.
submit-evidence = Iesniegt pierādījumus
submit-evidence-hint = Iesniegt var vienu reizi. Pēc tam lemj klienta banka.
accept-dispute = Pieņemt zaudējumu
accept-dispute-hint = Nauda paliek klientam. To nevar atsaukt.

## Desk: overview

overview = Pārskats
next-payout = Gaida nākamo izmaksu
payouts-held = Izmaksas ir apturētas
refused-captures = Noraidījis karšu pieņēmējs, pēdējās 30 dienas
disabled-webhooks = Atspējotie tīmekļa aizķeri
last-days = Iekasēts mīnus atmaksāts, pēdējās 30 dienas
days-in-utc = Dienas ir pēc UTC
as-table = Kā tabula
day = Diena

## Desk: people

people = Cilvēki
member-since = Dalībnieks kopš { $time }
invited = Uzaicināts
invited-until = Uzaicināts: saite darbojas līdz { $time }
invitation-expired = Uzaicinājuma termiņš ir beidzies
invite = Uzaicināt
invite-hint = Persona pa e-pastu saņem saiti, kas darbojas 72 stundas, un pēc tam šeit var darīt visu.
invite-again = Uzaicināt vēlreiz
remove = Vai noņemt { $name }?
remove-hint = Piekļuve šim veikalam beidzas uzreiz.
remove-yourself = Vai noņemt sevi?
remove-button = Noņemt
last-member = Pēdējo dalībnieku nevar noņemt. Vispirms kādu uzaiciniet.
apps = Lietotnes

## Desk: developers

developers = Izstrādātāji
foreign-app = Šī lietotne strādā arī veikaliem, kuru dalībnieks jūs neesat, tāpēc nevarat pārvaldīt tās atslēgas un webhook adreses.
api-keys = API atslēgas
created-on = Izveidota { $time }
last-used = Pēdējoreiz izmantota { $time }
never-used = Nav izmantota
key-name = Atslēgas nosaukums
create-key = Izveidot atslēgu
key-created = API atslēga izveidota
too-many-keys = Šai lietotnei ir 20 atslēgas, kas ir maksimums. Vispirms noņemiet vienu.
last-key = Pēdējo atslēgu nevar noņemt. Vispirms izveidojiet citu.
remove-key-hint = Programmas, kas izmanto šo atslēgu, tiek uzreiz noraidītas.
secret-once = Tas tiek rādīts tikai šoreiz. Nokopējiet to drošā vietā.
secret-shown = Tas tika parādīts vienreiz, un to nevar parādīt vēlreiz.
webhooks = Webhook adreses
create-webhook = Izveidot webhook
webhook-url = Adrese (URL)
webhook-url-error = Ievadiet adresi, kas sākas ar https:// un ir sasniedzama no interneta.
event-types = Notikumi
event-types-hint = Bez izvēles tiek sūtīti visi notikumi.
too-many-webhooks = Šai lietotnei ir 20 webhook adreses, kas ir maksimums. Vispirms noņemiet vienu.
enabled = Ieslēgts
disabled = Izslēgts
disabled-failures = Izslēgts, jo piegādes piecas dienas neizdevās
disabled-gone = Izslēgts, jo saņēmējs vairs nevēlas notikumus
send-test = Nosūtīt testu
new-secret = Jauns noslēpums
send-again = Sūtīt notikumus vēlreiz
new-secret-hint = 24 stundas paraksta arī vecais noslēpums.
send-again-hint = Visi notikumi kopš šīs dienas sākuma tiek sūtīti vēlreiz.
remove-webhook-hint = Uz šo adresi vairs nekas netiek sūtīts.
deliveries = Piegādes
delivered = Piegādāts
next-attempt = Nākamais mēģinājums { $time }

## Desk: payment links

payment-links = Maksājumu saites
link-text = Teksts klientam
link-text-error = Izmantojiet mazāk zīmju un tikai burtus, ciparus un pieturzīmes.
link-once = Var samaksāt tikai vienreiz
link-language = Lapas valoda
link-language-browser = Kā klienta pārlūkprogrammā
link-unsigned = Šim veikalam nav saišu atslēgas, tāpēc saites nav parakstītas: klienti var mainīt summu.
make-link = Izveidot saiti
payment-link = Maksājuma saite

## Desk: log

log = Žurnāls
operator = Operators
acquirer = Pieņēmējs
automatically = Automātiski
fraud-reported = Aizdomas par krāpšanu
acquirer-refused = Pieņēmējs noraidīja
merchant-released = Vairs nav apturēts
bank-changed = Bankas konts mainīts
invited-again = Uzaicināts vēlreiz
invitation-accepted = Uzaicinājums pieņemts
member-removed = Dalībnieks noņemts
app-added = Lietotne pievienota
app-removed = Lietotne noņemta
key-removed = API atslēga noņemta
webhook-created = Webhook izveidots
webhook-changed = Webhook mainīts
webhook-removed = Webhook noņemts
