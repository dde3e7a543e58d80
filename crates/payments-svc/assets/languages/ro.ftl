### Romanian

## Every page

payment-to-shop = Plată către { $shop }
test-payment = Acesta este un test: nu se transferă bani.
contact = Întrebări despre comandă
terms = Termeni și condiții
privacy = Politica de confidențialitate
accessibility = Accesibilitate

## Amount form

amount = Suma
amount-error =
    { $decimals ->
        [0] Introduceți suma în cifre, fără zecimale.
        [one] Introduceți suma în cifre, cu cel mult { $decimals } zecimală.
        [few] Introduceți suma în cifre, cu cel mult { $decimals } zecimale.
       *[other] Introduceți suma în cifre, cu cel mult { $decimals } de zecimale.
    }
currency = Moneda
currency-error = Introduceți un cod de monedă din trei litere, de exemplu EUR.
currency-unknown = Plata în această monedă nu este posibilă. Introduceți alt cod, de exemplu EUR.
proceed = Continuați

## Card form

card-details = Datele cardului
form-error = Corectați câmpurile marcate.
card-number = Numărul cardului
card-number-error = Introduceți numărul cardului, între 12 și 19 cifre.
card-number-typo = Verificați numărul cardului: o cifră este greșită.
accepted-cards = Carduri acceptate
expiry-date = Data expirării
expiry-date-malformed = Introduceți luna și anul de pe card, de exemplu 08/29.
expiry-date-past = Cardul a expirat. Verificați data sau folosiți alt card.
security-code = Codul de securitate
security-code-hint = 3 sau 4 cifre de pe card
security-code-error = Introduceți cele 3 sau 4 cifre ale codului de securitate.
security-code-back = Introduceți cele 3 cifre de pe spatele cardului.
security-code-front = Introduceți cele 4 cifre de pe fața cardului.
needs-script = Pentru a plăti aici, activați JavaScript și reîncărcați pagina.
card-saved = Cardul dumneavoastră va fi salvat pentru plăți viitoare către acest magazin.
receipt-email = E-mail pentru chitanță (opțional)
pay = Plătiți { $amount }

## Payment in progress

processing = Plata dumneavoastră este în curs de procesare
processing-hint = Această pagină se actualizează automat. Nu plătiți din nou.
check-again = Verificați din nou
confirm-payment = Confirmați plata
simulated-bank = Bancă simulată, pentru teste
confirm-card = Banca dumneavoastră întreabă: efectuați această plată cu cardul care se termină în { $last4 }?
confirm = Confirmați
cancel = Anulați

## Result

payment-successful = Plată reușită
payment-successful-hint = Puteți închide această pagină.
transaction = Tranzacție
shop = Comerciant
date = Data
card = Card
reference = Referință
receipt = Chitanță
payment-failed = Plata a eșuat
declined-details = Banca nu a acceptat datele cardului. Verificați-le și încercați din nou.
declined-expired = Cardul a expirat. Încercați cu altul.
declined-funds = Nu sunt suficiente fonduri în cont sau limita cardului este depășită. Încercați cu alt card.
declined-bank = Banca a respins plata. Încercați cu alt card sau contactați banca dumneavoastră.
declined-again = A apărut o eroare, dar nu s-a debitat nimic. Încercați din nou.
declined-unsupported = Acest card nu este acceptat. Încercați cu altul.
declined-unconfirmed = Plata nu a fost confirmată la banca dumneavoastră.
declined-shop = Magazinul nu poate accepta această plată. Contactați magazinul.
try-again = Încercați din nou
back-to-shop = Înapoi la magazin

## Problems

link-broken = Acest link de plată nu funcționează
link-broken-hint = Cereți magazinului unul nou.
link-used = Acest link a fost deja folosit
link-expired = Acest link de plată a expirat
form-expired = Această pagină este prea veche
form-expired-hint = Nu ați fost debitat și nimic din ce ați introdus nu a fost păstrat.
unavailable = Momentan nu se pot efectua plăți
unavailable-hint = Încercați din nou peste câteva minute. Suma nu va fi debitată de două ori.
too-many-attempts = Prea multe încercări
too-many-attempts-hint = Așteptați câteva minute, apoi încercați din nou. Nu s-a debitat nimic.

## Invitation e-mail

invitation-subject = Invitație: { $merchant }
invitation-greeting = Bună ziua,
invitation-by-app = { $app } vă invită să ajutați la administrarea plăților pentru { $merchant }.
invitation = ați primit o invitație de a ajuta la administrarea plăților pentru { $merchant }.
invitation-more = Persoana care v-a invitat vă poate oferi mai multe detalii.
invitation-unexpected = Dacă nu așteptați acest mesaj, îl puteți ignora.

## Mails of the desk

invitation-link = Deschideți această pagină în termen de 72 de ore pentru a accepta invitația și a vă autentifica:
sign-in-subject = Linkul dumneavoastră de autentificare
sign-in-mail = deschideți această pagină în termen de 15 minute, în browserul din care ați cerut linkul:
sign-in-unexpected = Dacă nu ați cerut acest link, puteți ignora acest mesaj. Nimeni nu se poate autentifica fără link.
receipt-mail = ați plătit { $amount } către { $merchant }. Acest link afișează timp de 18 luni chitanța și rambursările ulterioare:
dispute-subject = Contestație pentru o plată către { $merchant }
dispute-mail = Un client contestă { $amount } dintr-o plată către { $merchant }. Se poate răspunde până la { $day }.
payout-subject = Plată către contul { $merchant }
payout-mail = { $amount } sunt în drum spre contul bancar al { $merchant }.
return-subject = O plată către contul { $merchant } s-a întors
return-mail = Banca a trimis înapoi { $amount } plătiți către { $merchant }. Plățile următoare așteaptă până când contul bancar este corect.
webhook-subject = Un webhook al { $merchant } este dezactivat
webhook-mail = Un webhook al unei aplicații a { $merchant } este dezactivat, deoarece livrările sale au eșuat. Aplicația nu mai află de plăți.
more-at-desk = Găsiți mai multe în panou, unde alegeți și ce mesaje primiți:

## Desk: sign in

sign-in = Autentificare
email-address = Adresă de e-mail
email-address-hint = Vă trimitem un link de autentificare.
email-address-error = Introduceți adresa dumneavoastră de e-mail, de exemplu ann@shop.example.
send-link = Trimiteți linkul
check-mail = Verificați-vă e-mailul
check-mail-hint = Dacă { $email } aparține unui utilizator, am trimis un link. Deschideți-l în acest browser în termen de 15 minute.
sign-in-as = Vă autentificați ca { $email }.
sign-in-broken = Acest link nu funcționează
sign-in-broken-hint = A fost deja folosit, este prea vechi sau aparține altui browser.
new-link = Cereți un link nou
wait-hint = Așteptați câteva minute, apoi încercați din nou.
desk-unavailable = Momentan această pagină nu este disponibilă

## Desk: every page

merchants = Comercianți
test-mark = Test
sign-out = Deconectare
foreign-form = Acest formular a fost trimis de alt site
foreign-form-hint = Nu s-a efectuat nimic. Mergeți înapoi și trimiteți din nou formularul.
not-found = Această pagină nu există
merchant-held = Suspendat: { $reason }
not-approved = Acest magazin nu acceptă plăți înainte ca operatorul să îl aprobe

## Desk: payments

payments = Plăți
search = Căutați
more-filters = Mai multe filtre
last-four = Ultimele patru cifre ale cardului
last-four-error = Introduceți patru cifre.
from-day = De la
to-day = Până la
day-error = Introduceți o dată, de exemplu 2026-11-28.
state = Stare
all-states = Toate stările
nothing-found = Nu s-au găsit plăți.
download-csv = Descarcă CSV
older-payments = Plăți mai vechi
newest-payments = Cele mai noi plăți
all-merchants = Toți comercianții
balance = Sold
authorized = Autorizată
captured = Încasată
partly-captured = Încasată parțial
refunded = Rambursată
partly-refunded = Rambursată parțial
voided = Anulată
disputed = Contestată
failed = Eșuată
dispute-won = Dispută câștigată
dispute-lost = Dispută pierdută
evidence-submitted = Dovezi trimise
dispute-accepted = Pierdere acceptată
history = Istoric
fees = Comisioane

## Desk: capture, refund and release

capture = Încasează
refund = Rambursează
release = Eliberează
at-most = Cel mult { $amount }
available = Disponibil
left-afterwards = Rămâne după aceea
changed-meanwhile = Plata s-a schimbat între timp. Verificați suma.
movement-refused = Acest lucru nu mai este posibil sau nu cu această sumă.

## Desk: mails

mails = E-mailuri
mails-hint = Ce e-mailuri despre acest magazin doriți?
mail-dispute = Un client contestă o plată
mail-payout = Soldul este plătit
mail-return = O plată s-a întors
mail-webhook = Un webhook este dezactivat
save = Salvează
saved = Salvat

## Desk: account

account = Cont
authenticator = Aplicație de autentificare
authenticator-works = Aplicația dumneavoastră de autentificare este configurată.
authenticator-missing = Înainte de a muta bani sau de a schimba chei, aveți nevoie de un cod dintr-o aplicație de autentificare de pe telefon sau calculator.
set-up-authenticator = Configurați o aplicație de autentificare
remove-authenticator = Eliminați aplicația de autentificare
scan-code = Scanați acest cod cu aplicația.
qr-code = Cod QR
type-secret = Sau introduceți această cheie în aplicație:
enter-code = Introduceți codul
code = Cod
code-hint = Șase cifre din aplicația de autentificare sau un cod de recuperare.
first-code-hint = Cele șase cifre pe care le afișează aplicația.
code-error = Acest cod nu funcționează. Introduceți-l pe următorul.
code-locked = Prea multe coduri greșite. Așteptați 15 minute, apoi încercați din nou.
recovery-codes = Coduri de recuperare
recovery-codes-hint = Dacă pierdeți aplicația, introduceți unul dintre aceste coduri. Fiecare funcționează o singură dată. Păstrați-le acum într-un loc sigur: această pagină nu le va mai afișa.
recovery-codes-left = Coduri de recuperare rămase: { $count }
new-recovery-codes = Creați coduri de recuperare noi
sessions = Unde sunteți autentificat
session-began = Autentificare: { $time }
session-used = Ultima utilizare: { $time }
this-session = Acest browser
end-sessions = Deconectați-vă din toate celelalte browsere

## Desk: balance and disputes

payouts = Viramente
all-payouts = Toate viramentele
payout = Virament
payout-returned = Virament returnat
paid-out = Virat
month = Lună
next-page = Pagina următoare
first-page = Prima pagină
nothing-yet = Nimic încă
disputes = Dispute
open-disputes = Dispute deschise
decided-disputes = Dispute soluționate
days-left = Zile rămase: { $days }
inquiry = Solicitare de informații
evidence = Dovezi
evidence-text = Explicația dvs.
evidence-files = Fișiere
evidence-hint = Cel mult 5 fișiere PDF, PNG sau JPEG, 4,5 MB în total, și 20.000 de caractere. Fișierele noi le înlocuiesc pe cele salvate.
submit-evidence = Trimite dovezile
submit-evidence-hint = Puteți trimite o singură dată. Apoi decide banca clientului.
accept-dispute = Acceptă pierderea
accept-dispute-hint = Clientul păstrează banii. Acțiunea nu poate fi anulată.

## Desk: overview

overview = Prezentare generală
next-payout = În așteptarea următorului virament
payouts-held = Viramentele sunt suspendate
refused-captures = Refuzat de acceptator, ultimele 30 de zile
disabled-webhooks = Webhookuri dezactivate
last-days = Încasat minus rambursat, ultimele 30 de zile
days-in-utc = Zilele sunt în UTC
as-table = Ca tabel
day = Zi

## Desk: people

people = Persoane
member-since = Membru din { $time }
invited = Invitat
invited-until = Invitat: linkul funcționează până la { $time }
invitation-expired = Invitația a expirat
invite = Invitați
invite-hint = Persoana primește prin e-mail un link care funcționează 72 de ore și apoi poate face totul aici.
invite-again = Invitați din nou
remove = Eliminați { $name }?
remove-hint = Accesul la acest magazin se încheie imediat.
remove-yourself = Vă eliminați pe dumneavoastră?
remove-button = Eliminați
last-member = Ultimul membru nu poate fi eliminat. Invitați mai întâi pe cineva.
apps = Aplicații

## Desk: developers

developers = Dezvoltatori
foreign-app = Această aplicație lucrează și pentru magazine ale căror membru nu sunteți, deci nu îi puteți gestiona cheile și webhookurile.
api-keys = Chei API
created-on = Creată { $time }
last-used = Folosită ultima dată { $time }
never-used = Niciodată folosită
key-name = Numele cheii
create-key = Creați o cheie
key-created = Cheie API creată
too-many-keys = Această aplicație are 20 de chei, adică maximul. Eliminați mai întâi una.
last-key = Ultima cheie nu poate fi eliminată. Creați mai întâi alta.
remove-key-hint = Programele care folosesc această cheie sunt refuzate imediat.
secret-once = Se afișează doar de această dată. Copiați textul într-un loc sigur.
secret-shown = A fost afișat o dată și nu mai poate fi afișat.
webhooks = Webhookuri
create-webhook = Creați un webhook
webhook-url = Adresă (URL)
webhook-url-error = Introduceți o adresă care începe cu https:// și poate fi accesată din internet.
event-types = Evenimente
event-types-hint = Fără o alegere, se trimit toate evenimentele.
too-many-webhooks = Această aplicație are 20 de webhookuri, adică maximul. Eliminați mai întâi unul.
enabled = Activat
disabled = Dezactivat
disabled-failures = Dezactivat, deoarece livrările au eșuat timp de cinci zile
disabled-gone = Dezactivat, deoarece destinatarul nu mai dorește evenimente
send-test = Trimiteți un test
new-secret = Secret nou
send-again = Retrimiteți evenimente
new-secret-hint = Timp de 24 de ore semnează și secretul vechi.
send-again-hint = Toate evenimentele de la începutul acestei zile se trimit din nou.
remove-webhook-hint = Nu se mai trimite nimic la această adresă.
deliveries = Livrări
delivered = Livrat
next-attempt = Următoarea încercare { $time }

## Desk: payment links

payment-links = Linkuri de plată
link-text = Text pentru client
link-text-error = Folosiți mai puține caractere, și doar litere, cifre și semne de punctuație.
link-once = Se poate plăti o singură dată
link-language = Limba paginii
link-language-browser = Ca în browserul clientului
link-unsigned = Acest magazin nu are o cheie pentru linkuri, deci linkurile nu sunt semnate: clienții pot schimba suma.
make-link = Creați linkul
payment-link = Link de plată

## Desk: log

log = Jurnal
operator = Operator
acquirer = Acceptator
automatically = Automat
fraud-reported = Suspiciune de fraudă
acquirer-refused = Refuzată de acceptator
merchant-released = Nu mai este suspendat
bank-changed = Cont bancar schimbat
invited-again = Invitat din nou
invitation-accepted = Invitație acceptată
member-removed = Membru eliminat
app-added = Aplicație adăugată
app-removed = Aplicație eliminată
key-removed = Cheie API eliminată
webhook-created = Webhook creat
webhook-changed = Webhook modificat
webhook-removed = Webhook eliminat
