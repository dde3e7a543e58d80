### Croatian

## Every page

payment-to-shop = Plaćanje: { $shop }
test-payment = Ovo je test: ništa se neće naplatiti.
contact = Pitanja o narudžbi
terms = Uvjeti poslovanja
privacy = Pravila privatnosti
accessibility = Pristupačnost

## Amount form

amount = Iznos
amount-error =
    { $decimals ->
        [0] Unesite iznos brojkama, bez decimala.
        [one] Unesite iznos brojkama, s najviše { $decimals } decimalom.
        [few] Unesite iznos brojkama, s najviše { $decimals } decimale.
       *[other] Unesite iznos brojkama, s najviše { $decimals } decimala.
    }
currency = Valuta
currency-error = Unesite troslovnu oznaku valute, na primjer EUR.
currency-unknown = Plaćanje u ovoj valuti nije moguće. Unesite drugu oznaku, na primjer EUR.
proceed = Nastavi

## Card form

card-details = Podaci o kartici
form-error = Ispravite označena polja.
card-number = Broj kartice
card-number-error = Unesite broj kartice, 12 do 19 znamenki.
card-number-typo = Provjerite broj kartice: jedna znamenka je pogrešna.
accepted-cards = Prihvaćene kartice
expiry-date = Vrijedi do
expiry-date-malformed = Unesite mjesec i godinu navedene na kartici, na primjer 08/29.
expiry-date-past = Kartica je istekla. Provjerite datum ili upotrijebite drugu karticu.
security-code = Sigurnosni kod
security-code-hint = 3 ili 4 znamenke na kartici
security-code-error = Unesite 3 ili 4 znamenke sigurnosnog koda.
security-code-back = Unesite 3 znamenke s poleđine kartice.
security-code-front = Unesite 4 znamenke s prednje strane kartice.
needs-script = Za plaćanje ovdje uključite JavaScript i ponovno učitajte stranicu.
card-saved = Vaša će kartica biti spremljena za buduća plaćanja ovoj trgovini.
receipt-email = E-pošta za potvrdu (neobavezno)
pay = Plati { $amount }

## Payment in progress

processing = Vaše se plaćanje obrađuje
processing-hint = Ova se stranica osvježava automatski. Nemojte plaćati ponovno.
check-again = Provjeri ponovno
confirm-payment = Potvrdite plaćanje
simulated-bank = Simulacija banke za testiranje
confirm-card = Vaša banka pita: obavljate li ovo plaćanje karticom čiji broj završava na { $last4 }?
confirm = Potvrdi
cancel = Odustani

## Result

payment-successful = Plaćanje je uspjelo
payment-successful-hint = Možete zatvoriti ovu stranicu.
transaction = Transakcija
shop = Trgovac
date = Datum
card = Kartica
reference = Referenca
receipt = Potvrda o plaćanju
payment-failed = Plaćanje nije uspjelo
declined-details = Banka nije prihvatila podatke o kartici. Provjerite ih i pokušajte ponovno.
declined-expired = Kartica je istekla. Pokušajte s drugom.
declined-funds = Na računu nema dovoljno sredstava ili je prekoračen limit kartice. Pokušajte s drugom karticom.
declined-bank = Banka je odbila plaćanje. Pokušajte s drugom karticom ili se obratite svojoj banci.
declined-again = Došlo je do pogreške, ali ništa nije naplaćeno. Pokušajte ponovno.
declined-unsupported = Ova se kartica ne prihvaća. Pokušajte s drugom.
declined-unconfirmed = Plaćanje nije potvrđeno kod vaše banke.
declined-shop = Trgovina ne može primiti ovo plaćanje. Obratite se trgovini.
try-again = Pokušaj ponovno
back-to-shop = Natrag u trgovinu

## Problems

link-broken = Ova poveznica za plaćanje ne radi
link-broken-hint = Zatražite od trgovine novu.
link-used = Ova je poveznica već iskorištena
link-expired = Ova je poveznica za plaćanje istekla
form-expired = Ova je stranica prestara
form-expired-hint = Ništa vam nije naplaćeno i ništa što ste unijeli nije spremljeno.
unavailable = Plaćanje trenutačno nije moguće
unavailable-hint = Pokušajte ponovno za nekoliko minuta. Ništa se neće naplatiti dvaput.
too-many-attempts = Previše pokušaja
too-many-attempts-hint = Pričekajte nekoliko minuta pa pokušajte ponovno. Ništa nije naplaćeno.

## Invitation e-mail

invitation-subject = Pozivnica: { $merchant }
invitation-greeting = Poštovani,
invitation-by-app = aplikacija { $app } poziva vas da pomognete u upravljanju plaćanjima trgovca { $merchant }.
invitation = pozvani ste da pomognete u upravljanju plaćanjima trgovca { $merchant }.
invitation-more = Više vam može reći osoba koja vas je pozvala.
invitation-unexpected = Ako niste očekivali ovu poruku, možete je zanemariti.

## Mails of the desk

invitation-link = Otvorite ovu stranicu u roku od 72 sata kako biste prihvatili pozivnicu i prijavili se:
sign-in-subject = Vaša poveznica za prijavu
sign-in-mail = otvorite ovu stranicu u roku od 15 minuta u pregledniku u kojem ste zatražili poveznicu:
sign-in-unexpected = Ako niste zatražili ovu poveznicu, možete zanemariti ovu poruku. Bez poveznice se nitko ne može prijaviti.
receipt-mail = platili ste { $amount } trgovini { $merchant }. Ova poveznica 18 mjeseci prikazuje potvrdu i kasnije povrate:
dispute-subject = Osporeno plaćanje trgovine { $merchant }
dispute-mail = Kupac osporava { $amount } plaćanja trgovine { $merchant }. Možete odgovoriti do { $day }.
payout-subject = Isplata za { $merchant }
payout-mail = { $amount } je na putu na bankovni račun trgovine { $merchant }.
return-subject = Isplata za { $merchant } je vraćena
return-mail = Banka je vratila { $amount } isplaćenih trgovini { $merchant }. Daljnje isplate čekaju dok bankovni račun ne bude ispravan.
webhook-subject = Webhook trgovine { $merchant } je isključen
webhook-mail = Webhook aplikacije trgovine { $merchant } je isključen jer njegove isporuke nisu uspjele. Aplikacija više ne saznaje za plaćanja.
more-at-desk = Više ćete pronaći u upravljanju, gdje birate i koje poruke dobivate:

## Desk: sign in

sign-in = Prijava
email-address = Adresa e-pošte
email-address-hint = Poslat ćemo vam poveznicu za prijavu.
email-address-error = Unesite svoju adresu e-pošte, na primjer ann@shop.example.
send-link = Pošalji poveznicu
check-mail = Provjerite e-poštu
check-mail-hint = Ako adresa { $email } pripada korisniku, poslali smo poveznicu. Otvorite je u ovom pregledniku u roku od 15 minuta.
sign-in-as = Prijavljujete se kao { $email }.
sign-in-broken = Ova poveznica ne radi
sign-in-broken-hint = Već je iskorištena, prestara je ili pripada drugom pregledniku.
new-link = Zatraži novu poveznicu
wait-hint = Pričekajte nekoliko minuta pa pokušajte ponovno.
desk-unavailable = Ova stranica trenutačno nije dostupna

## Desk: every page

merchants = Trgovci
test-mark = Test
sign-out = Odjava
foreign-form = Ovaj je obrazac poslan s drugog web-mjesta
foreign-form-hint = Ništa nije učinjeno. Vratite se natrag i ponovno pošaljite obrazac.
not-found = Ova stranica ne postoji
merchant-held = Zaustavljeno: { $reason }
not-approved = Ova trgovina ne prima plaćanja dok je operater ne odobri

## Desk: payments

payments = Plaćanja
search = Traži
more-filters = Još filtara
last-four = Posljednje četiri znamenke kartice
last-four-error = Unesite četiri znamenke.
from-day = Od
to-day = Do
day-error = Unesite datum, na primjer 2026-11-28.
state = Status
all-states = Svi statusi
nothing-found = Nije pronađeno nijedno plaćanje.
download-csv = Preuzmi CSV
older-payments = Starija plaćanja
newest-payments = Najnovija plaćanja
all-merchants = Svi trgovci
balance = Saldo
authorized = Autorizirano
captured = Naplaćeno
partly-captured = Djelomično naplaćeno
refunded = Vraćeno
partly-refunded = Djelomično vraćeno
voided = Poništeno
disputed = Osporeno
failed = Neuspjelo
dispute-won = Spor dobiven
dispute-lost = Spor izgubljen
evidence-submitted = Dokazi poslani
dispute-accepted = Gubitak prihvaćen
history = Povijest
fees = Naknade

## Desk: capture, refund and release

capture = Naplati
refund = Vrati
release = Otpusti
at-most = Najviše { $amount }
available = Dostupno
left-afterwards = Preostaje nakon toga
changed-meanwhile = Plaćanje se u međuvremenu promijenilo. Provjerite iznos.
movement-refused = To više nije moguće ili nije moguće s ovim iznosom.

## Desk: mails

mails = E-poruke
mails-hint = Koje e-poruke o ovoj trgovini želite?
mail-dispute = Kupac osporava plaćanje
mail-payout = Saldo se isplaćuje
mail-return = Isplata je vraćena
mail-webhook = Webhook je isključen
save = Spremi
saved = Spremljeno

## Desk: account

account = Račun
authenticator = Aplikacija za provjeru autentičnosti
authenticator-works = Vaša aplikacija za provjeru autentičnosti je postavljena.
authenticator-missing = Prije nego što prenesete novac ili promijenite ključeve, potreban vam je kod iz aplikacije za provjeru autentičnosti na telefonu ili računalu.
set-up-authenticator = Postavi aplikaciju za provjeru autentičnosti
remove-authenticator = Ukloni aplikaciju za provjeru autentičnosti
scan-code = Skenirajte ovaj kod aplikacijom.
qr-code = QR kod
type-secret = Ili unesite ovaj ključ u aplikaciju:
enter-code = Unesite kod
code = Kod
code-hint = Šest znamenki iz aplikacije za provjeru autentičnosti ili kod za oporavak.
first-code-hint = Šest znamenki koje aplikacija prikazuje.
code-error = Ovaj kod ne vrijedi. Unesite sljedeći.
code-locked = Previše pogrešnih kodova. Pričekajte 15 minuta pa pokušajte ponovno.
recovery-codes = Kodovi za oporavak
recovery-codes-hint = Ako izgubite aplikaciju, unesite jedan od ovih kodova. Svaki vrijedi jednom. Odmah ih spremite na sigurno mjesto: ova ih stranica neće ponovno prikazati.
recovery-codes-left = Preostali kodovi za oporavak: { $count }
new-recovery-codes = Izradi nove kodove za oporavak
sessions = Gdje ste prijavljeni
session-began = Prijava: { $time }
session-used = Zadnja upotreba: { $time }
this-session = Ovaj preglednik
end-sessions = Odjavi se u svim drugim preglednicima

## Desk: balance and disputes

payouts = Isplate
all-payouts = Sve isplate
payout = Isplata
payout-returned = Isplata vraćena
paid-out = Isplaćeno
month = Mjesec
next-page = Sljedeća stranica
first-page = Prva stranica
nothing-yet = Još nema ničega
disputes = Sporovi
open-disputes = Otvoreni sporovi
decided-disputes = Riješeni sporovi
days-left = Preostalo dana: { $days }
inquiry = Upit
evidence = Dokazi
evidence-text = Vaše objašnjenje
evidence-files = Datoteke
evidence-hint = Najviše 5 datoteka PDF, PNG ili JPEG, ukupno 4,5 MB, i 20.000 znakova. Nove datoteke zamjenjuju spremljene.
submit-evidence = Pošalji dokaze
submit-evidence-hint = Možete poslati samo jednom. Zatim odlučuje banka kupca.
accept-dispute = Prihvati gubitak
accept-dispute-hint = Kupac zadržava novac. To se ne može poništiti.

## Desk: overview

overview = Pregled
next-payout = Čeka sljedeću isplatu
payouts-held = Isplate su zaustavljene
refused-captures = Odbio prihvatitelj kartica, posljednjih 30 dana
disabled-webhooks = Onemogućeni webhookovi
last-days = Naplaćeno umanjeno za povrate, posljednjih 30 dana
days-in-utc = Dani su prema UTC-u
as-table = Kao tablica
day = Dan

## Desk: people

people = Osobe
member-since = Član od { $time }
invited = Pozvan
invited-until = Pozvan: poveznica radi do { $time }
invitation-expired = Pozivnica je istekla
invite = Pozovi
invite-hint = Osoba e-poštom dobiva poveznicu koja radi 72 sata i zatim ovdje može činiti sve.
invite-again = Pozovi ponovno
remove = Ukloniti { $name }?
remove-hint = Pristup ovoj trgovini odmah prestaje.
remove-yourself = Ukloniti sebe?
remove-button = Ukloni
last-member = Posljednji član ne može se ukloniti. Najprije nekoga pozovite.
apps = Aplikacije

## Desk: developers

developers = Programeri
foreign-app = Ova aplikacija radi i za trgovine čiji niste član, pa ne možete upravljati njezinim ključevima i webhookovima.
api-keys = API ključevi
created-on = Stvoren { $time }
last-used = Zadnji put korišten { $time }
never-used = Nikad korišten
key-name = Naziv ključa
create-key = Stvori ključ
key-created = API ključ stvoren
too-many-keys = Ova aplikacija ima 20 ključeva, što je najviše. Najprije uklonite jedan.
last-key = Posljednji ključ ne može se ukloniti. Najprije stvorite drugi.
remove-key-hint = Programi koji koriste ovaj ključ odmah se odbijaju.
secret-once = Prikazuje se samo ovaj put. Kopirajte ga na sigurno mjesto.
secret-shown = Prikazan je jednom i ne može se ponovno prikazati.
webhooks = Webhookovi
create-webhook = Stvori webhook
webhook-url = Adresa (URL)
webhook-url-error = Unesite adresu koja počinje s https:// i dostupna je s interneta.
event-types = Događaji
event-types-hint = Bez odabira šalju se svi događaji.
too-many-webhooks = Ova aplikacija ima 20 webhookova, što je najviše. Najprije uklonite jedan.
enabled = Uključen
disabled = Isključen
disabled-failures = Isključen jer dostave nisu uspijevale pet dana
disabled-gone = Isključen jer primatelj više ne želi događaje
send-test = Pošalji test
new-secret = Nova tajna
send-again = Pošalji događaje ponovno
new-secret-hint = Još 24 sata potpisuje i stara tajna.
send-again-hint = Svi događaji od početka ovog dana šalju se ponovno.
remove-webhook-hint = Na ovu adresu više se ništa ne šalje.
deliveries = Dostave
delivered = Dostavljeno
next-attempt = Sljedeći pokušaj { $time }

## Desk: payment links

payment-links = Poveznice za plaćanje
link-text = Tekst za kupca
link-text-error = Upotrijebite manje znakova, i samo slova, znamenke i interpunkciju.
link-once = Može se platiti samo jednom
link-language = Jezik stranice
link-language-browser = Kao u pregledniku kupca
link-unsigned = Ova trgovina nema ključ za poveznice, pa poveznice nisu potpisane: kupci mogu promijeniti iznos.
make-link = Stvori poveznicu
payment-link = Poveznica za plaćanje

## Desk: log

log = Zapisnik
operator = Operater
acquirer = Prihvatitelj
automatically = Automatski
fraud-reported = Sumnja na prijevaru
acquirer-refused = Odbio prihvatitelj
merchant-released = Više nije zaustavljeno
bank-changed = Bankovni račun promijenjen
invited-again = Ponovno pozvan
invitation-accepted = Pozivnica prihvaćena
member-removed = Član uklonjen
app-added = Aplikacija dodana
app-removed = Aplikacija uklonjena
key-removed = API ključ uklonjen
webhook-created = Webhook stvoren
webhook-changed = Webhook promijenjen
webhook-removed = Webhook uklonjen
