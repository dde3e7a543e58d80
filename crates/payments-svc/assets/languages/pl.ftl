### Polish

## Every page

payment-to-shop = Płatność dla { $shop }
test-payment = To jest test: pieniądze nie zostaną pobrane.
contact = Pytania dotyczące zamówienia
terms = Regulamin
privacy = Polityka prywatności
accessibility = Dostępność

## Amount form

amount = Kwota
amount-error =
    { $decimals ->
        [0] Wpisz kwotę cyframi, bez miejsc po przecinku.
        [one] Wpisz kwotę cyframi, z maksymalnie { $decimals } miejscem po przecinku.
       *[other] Wpisz kwotę cyframi, z maksymalnie { $decimals } miejscami po przecinku.
    }
currency = Waluta
currency-error = Wpisz trzyliterowy kod waluty, na przykład EUR.
currency-unknown = Płatność w tej walucie nie jest możliwa. Podaj inny kod, na przykład EUR.
proceed = Dalej

## Card form

card-details = Dane karty
form-error = Popraw zaznaczone pola.
card-number = Numer karty
card-number-error = Wpisz numer karty, od 12 do 19 cyfr.
card-number-typo = Sprawdź numer karty: jedna z cyfr jest błędna.
accepted-cards = Akceptowane karty
expiry-date = Data ważności
expiry-date-malformed = Wpisz miesiąc i rok podane na karcie, na przykład 08/29.
expiry-date-past = Karta straciła ważność. Sprawdź datę lub użyj innej karty.
security-code = Kod CVV/CVC
security-code-hint = 3 lub 4 cyfry na karcie
security-code-error = Wpisz 3 lub 4 cyfry kodu CVV/CVC.
security-code-back = Wpisz 3 cyfry z tyłu karty.
security-code-front = Wpisz 4 cyfry z przodu karty.
needs-script = Aby zapłacić tutaj, włącz JavaScript i odśwież stronę.
card-saved = Twoja karta zostanie zapisana na potrzeby przyszłych płatności w tym sklepie.
receipt-email = E-mail do wysłania potwierdzenia (opcjonalnie)
pay = Zapłać { $amount }

## Payment in progress

processing = Płatność jest przetwarzana
processing-hint = Ta strona odświeża się automatycznie. Nie płać ponownie.
check-again = Sprawdź ponownie
confirm-payment = Potwierdź płatność
simulated-bank = Symulacja banku do testów
confirm-card = Twój bank pyta: czy to Ty dokonujesz tej płatności kartą o numerze kończącym się na { $last4 }?
confirm = Potwierdź
cancel = Anuluj

## Result

payment-successful = Płatność zrealizowana
payment-successful-hint = Możesz zamknąć tę stronę.
transaction = Transakcja
shop = Sprzedawca
date = Data
card = Karta
reference = Numer referencyjny
receipt = Potwierdzenie płatności
payment-failed = Płatność nie powiodła się
declined-details = Bank nie zaakceptował danych karty. Sprawdź je i spróbuj ponownie.
declined-expired = Karta straciła ważność. Użyj innej karty.
declined-funds = Na koncie nie ma wystarczających środków lub przekroczono limit karty. Użyj innej karty.
declined-bank = Bank odrzucił płatność. Użyj innej karty lub skontaktuj się ze swoim bankiem.
declined-again = Wystąpił błąd, ale pieniądze nie zostały pobrane. Spróbuj ponownie.
declined-unsupported = Ta karta nie jest obsługiwana. Użyj innej karty.
declined-unconfirmed = Płatność nie została potwierdzona w Twoim banku.
declined-shop = Sklep nie może przyjąć tej płatności. Skontaktuj się ze sklepem.
try-again = Spróbuj ponownie
back-to-shop = Wróć do sklepu

## Problems

link-broken = Ten link do płatności nie działa
link-broken-hint = Poproś sklep o nowy.
link-used = Ten link został już wykorzystany
link-expired = Ten link do płatności wygasł
form-expired = Ta strona jest zbyt stara
form-expired-hint = Nie pobrano żadnych środków, a wprowadzone dane nie zostały zapisane.
unavailable = Płatność jest chwilowo niedostępna
unavailable-hint = Spróbuj ponownie za kilka minut. Kwota nie zostanie pobrana dwa razy.
too-many-attempts = Zbyt wiele prób
too-many-attempts-hint = Odczekaj kilka minut i spróbuj ponownie. Pieniądze nie zostały pobrane.

## Invitation e-mail

invitation-subject = Zaproszenie: { $merchant }
invitation-greeting = Dzień dobry,
invitation-by-app = aplikacja { $app } zaprasza do pomocy w zarządzaniu płatnościami sprzedawcy { $merchant }.
invitation = zapraszamy do pomocy w zarządzaniu płatnościami sprzedawcy { $merchant }.
invitation-more = Więcej informacji udzieli osoba, która wysłała zaproszenie.
invitation-unexpected = Jeśli ta wiadomość jest nieoczekiwana, można ją zignorować.

## Mails of the desk

invitation-link = Aby przyjąć zaproszenie i się zalogować, otwórz tę stronę w ciągu 72 godzin:
sign-in-subject = Twój link do logowania
sign-in-mail = otwórz tę stronę w ciągu 15 minut w przeglądarce, z której wysłano prośbę o link:
sign-in-unexpected = Jeśli prośba o ten link nie pochodzi od Ciebie, możesz zignorować tę wiadomość. Bez linku nikt nie może się zalogować.
receipt-mail = zapłacono { $amount } na rzecz { $merchant }. Ten link przez 18 miesięcy pokazuje potwierdzenie i późniejsze zwroty:
dispute-subject = Spór o płatność na rzecz { $merchant }
dispute-mail = Klient kwestionuje { $amount } z płatności na rzecz { $merchant }. Można odpowiedzieć do { $day }.
payout-subject = Wypłata dla { $merchant }
payout-mail = { $amount } jest w drodze na rachunek bankowy { $merchant }.
return-subject = Wypłata dla { $merchant } wróciła
return-mail = Bank odesłał { $amount } wypłacone dla { $merchant }. Kolejne wypłaty czekają, aż rachunek bankowy będzie prawidłowy.
webhook-subject = Webhook { $merchant } jest wyłączony
webhook-mail = Webhook aplikacji { $merchant } jest wyłączony, bo jego dostarczenia się nie powiodły. Aplikacja nie dowiaduje się już o płatnościach.
more-at-desk = Więcej znajdziesz w panelu, gdzie wybierasz też, jakie wiadomości dostajesz:

## Desk: sign in

sign-in = Zaloguj się
email-address = Adres e-mail
email-address-hint = Wyślemy Ci link do logowania.
email-address-error = Wpisz swój adres e-mail, na przykład ann@shop.example.
send-link = Wyślij link
check-mail = Sprawdź pocztę
check-mail-hint = Jeśli adres { $email } należy do użytkownika, wysłaliśmy link. Otwórz go w tej przeglądarce w ciągu 15 minut.
sign-in-as = Logujesz się jako { $email }.
sign-in-broken = Ten link nie działa
sign-in-broken-hint = Został już wykorzystany, jest zbyt stary lub jest przeznaczony dla innej przeglądarki.
new-link = Poproś o nowy link
wait-hint = Odczekaj kilka minut i spróbuj ponownie.
desk-unavailable = Ta strona jest chwilowo niedostępna

## Desk: every page

merchants = Sprzedawcy
test-mark = Test
sign-out = Wyloguj się
foreign-form = Ten formularz został wysłany przez inną witrynę
foreign-form-hint = Nie wykonano żadnej operacji. Wróć i wyślij formularz ponownie.
not-found = Ta strona nie istnieje
merchant-held = Wstrzymano: { $reason }
not-approved = Ten sklep nie przyjmuje płatności, dopóki operator go nie zatwierdzi

## Desk: payments

payments = Płatności
search = Szukaj
more-filters = Więcej filtrów
last-four = Ostatnie cztery cyfry karty
last-four-error = Wpisz cztery cyfry.
from-day = Od
to-day = Do
day-error = Wpisz datę, na przykład 2026-11-28.
state = Status
all-states = Wszystkie statusy
nothing-found = Nie znaleziono płatności.
download-csv = Pobierz CSV
older-payments = Starsze płatności
newest-payments = Najnowsze płatności
all-merchants = Wszyscy sprzedawcy
balance = Saldo
authorized = Autoryzowana
captured = Pobrana
partly-captured = Pobrana częściowo
refunded = Zwrócona
partly-refunded = Zwrócona częściowo
voided = Anulowana
disputed = Sporna
failed = Nieudana
dispute-won = Spór wygrany
dispute-lost = Spór przegrany
evidence-submitted = Dowody przesłane
dispute-accepted = Strata zaakceptowana
history = Historia
fees = Opłaty

## Desk: capture, refund and release

capture = Pobierz
refund = Zwróć
release = Zwolnij
at-most = Najwyżej { $amount }
available = Dostępne
left-afterwards = Pozostanie
changed-meanwhile = Płatność zmieniła się w międzyczasie. Sprawdź kwotę.
movement-refused = To nie jest już możliwe albo nie z tą kwotą.

## Desk: mails

mails = E-maile
mails-hint = Jakie e-maile o tym sklepie chcesz dostawać?
mail-dispute = Klient kwestionuje płatność
mail-payout = Saldo jest wypłacane
mail-return = Wypłata wróciła
mail-webhook = Webhook jest wyłączony
save = Zapisz
saved = Zapisano

## Desk: account

account = Konto
authenticator = Aplikacja uwierzytelniająca
authenticator-works = Twoja aplikacja uwierzytelniająca jest skonfigurowana.
authenticator-missing = Zanim przekażesz pieniądze lub zmienisz klucze, potrzebujesz kodu z aplikacji uwierzytelniającej na telefonie lub komputerze.
set-up-authenticator = Skonfiguruj aplikację uwierzytelniającą
remove-authenticator = Usuń aplikację uwierzytelniającą
scan-code = Zeskanuj ten kod aplikacją.
qr-code = Kod QR
type-secret = Albo wpisz ten klucz w aplikacji:
enter-code = Wpisz kod
code = Kod
code-hint = Sześć cyfr z aplikacji uwierzytelniającej lub kod odzyskiwania.
first-code-hint = Sześć cyfr, które pokazuje aplikacja.
code-error = Ten kod nie działa. Wpisz następny.
code-locked = Zbyt wiele błędnych kodów. Odczekaj 15 minut i spróbuj ponownie.
recovery-codes = Kody odzyskiwania
recovery-codes-hint = Jeśli stracisz aplikację, wpisz jeden z tych kodów. Każdy działa jeden raz. Zapisz je teraz w bezpiecznym miejscu: ta strona nie pokaże ich ponownie.
recovery-codes-left = Pozostałe kody odzyskiwania: { $count }
new-recovery-codes = Utwórz nowe kody odzyskiwania
sessions = Gdzie trwa sesja
session-began = Logowanie: { $time }
session-used = Ostatnie użycie: { $time }
this-session = Ta przeglądarka
end-sessions = Wyloguj się we wszystkich innych przeglądarkach

## Desk: balance and disputes

payouts = Wypłaty
all-payouts = Wszystkie wypłaty
payout = Wypłata
payout-returned = Wypłata zwrócona
paid-out = Wypłacono
month = Miesiąc
next-page = Następna strona
first-page = Pierwsza strona
nothing-yet = Na razie nic
disputes = Spory
open-disputes = Otwarte spory
decided-disputes = Rozstrzygnięte spory
days-left = Pozostało dni: { $days }
inquiry = Zapytanie
evidence = Dowody
evidence-text = Twoje wyjaśnienie
evidence-files = Pliki
evidence-hint = Najwyżej 5 plików PDF, PNG lub JPEG, razem 4,5 MB, i 20 000 znaków. Nowe pliki zastępują zapisane.
submit-evidence = Prześlij dowody
submit-evidence-hint = Można przesłać tylko raz. Potem decyduje bank klienta.
accept-dispute = Zaakceptuj stratę
accept-dispute-hint = Klient zatrzyma pieniądze. Tego nie można cofnąć.

## Desk: overview

overview = Przegląd
next-payout = Czeka na następną wypłatę
payouts-held = Wypłaty są wstrzymane
refused-captures = Odrzucone przez agenta rozliczeniowego, ostatnie 30 dni
disabled-webhooks = Wyłączone webhooki
last-days = Pobrane minus zwroty, ostatnie 30 dni
days-in-utc = Dni według UTC
as-table = Jako tabela
day = Dzień

## Desk: people

people = Osoby
member-since = Członek od { $time }
invited = Zaproszono
invited-until = Zaproszono: link działa do { $time }
invitation-expired = Zaproszenie wygasło
invite = Zaproś
invite-hint = Osoba otrzyma e-mailem link, który działa 72 godziny, i będzie mogła robić tu wszystko.
invite-again = Zaproś ponownie
remove = Usunąć { $name }?
remove-hint = Dostęp do tego sklepu kończy się natychmiast.
remove-yourself = Usunąć siebie?
remove-button = Usuń
last-member = Nie można usunąć ostatniego członka. Najpierw kogoś zaproś.
apps = Aplikacje

## Desk: developers

developers = Programiści
foreign-app = Ta aplikacja działa też dla sklepów, których członkiem nie jesteś, więc nie możesz zarządzać jej kluczami i webhookami.
api-keys = Klucze API
created-on = Utworzono { $time }
last-used = Ostatnio użyto { $time }
never-used = Nigdy nie użyto
key-name = Nazwa klucza
create-key = Utwórz klucz
key-created = Utworzono klucz API
too-many-keys = Ta aplikacja ma 20 kluczy, czyli maksimum. Najpierw usuń jeden.
last-key = Nie można usunąć ostatniego klucza. Najpierw utwórz inny.
remove-key-hint = Programy używające tego klucza są natychmiast odrzucane.
secret-once = To jedyny raz, gdy to widać. Skopiuj w bezpieczne miejsce.
secret-shown = Pokazano to raz i nie można pokazać ponownie.
webhooks = Webhooki
create-webhook = Utwórz webhook
webhook-url = Adres (URL)
webhook-url-error = Wpisz adres, który zaczyna się od https:// i jest dostępny z internetu.
event-types = Zdarzenia
event-types-hint = Bez wyboru wysyłane są wszystkie zdarzenia.
too-many-webhooks = Ta aplikacja ma 20 webhooków, czyli maksimum. Najpierw usuń jeden.
enabled = Włączony
disabled = Wyłączony
disabled-failures = Wyłączony, ponieważ dostarczanie nie udawało się przez pięć dni
disabled-gone = Wyłączony, ponieważ odbiorca nie chce więcej zdarzeń
send-test = Wyślij test
new-secret = Nowy sekret
send-again = Wyślij zdarzenia ponownie
new-secret-hint = Przez 24 godziny podpisuje też stary sekret.
send-again-hint = Wszystkie zdarzenia od początku tego dnia są wysyłane ponownie.
remove-webhook-hint = Na ten adres nic już nie jest wysyłane.
deliveries = Dostarczenia
delivered = Dostarczono
next-attempt = Następna próba { $time }

## Desk: payment links

payment-links = Linki do płatności
link-text = Tekst dla klienta
link-text-error = Użyj mniej znaków, i tylko liter, cyfr i znaków interpunkcyjnych.
link-once = Można zapłacić tylko raz
link-language = Język strony
link-language-browser = Jak w przeglądarce klienta
link-unsigned = Ten sklep nie ma klucza do linków, więc linki nie są podpisane: klienci mogą zmienić kwotę.
make-link = Utwórz link
payment-link = Link do płatności

## Desk: log

log = Dziennik
operator = Operator
acquirer = Agent rozliczeniowy
automatically = Automatycznie
fraud-reported = Podejrzenie oszustwa
acquirer-refused = Odrzucone przez agenta rozliczeniowego
merchant-released = Już nie wstrzymano
bank-changed = Zmieniono konto bankowe
invited-again = Zaproszono ponownie
invitation-accepted = Przyjęto zaproszenie
member-removed = Usunięto członka
app-added = Dodano aplikację
app-removed = Usunięto aplikację
key-removed = Usunięto klucz API
webhook-created = Utworzono webhook
webhook-changed = Zmieniono webhook
webhook-removed = Usunięto webhook
