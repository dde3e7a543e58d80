### German

## Every page

payment-to-shop = Zahlung an { $shop }
test-payment = Dies ist ein Test: Es wird nichts abgebucht.
contact = Fragen zu Ihrer Bestellung
terms = Allgemeine Geschäftsbedingungen
privacy = Datenschutzerklärung
accessibility = Barrierefreiheit

## Amount form

amount = Betrag
amount-error =
    { $decimals ->
        [0] Geben Sie den Betrag in Ziffern ein, ohne Nachkommastellen.
        [one] Geben Sie den Betrag in Ziffern ein, mit höchstens { $decimals } Nachkommastelle.
       *[other] Geben Sie den Betrag in Ziffern ein, mit höchstens { $decimals } Nachkommastellen.
    }
currency = Währung
currency-error = Geben Sie einen Währungscode aus drei Buchstaben ein, zum Beispiel EUR.
currency-unknown = Zahlungen in dieser Währung sind nicht möglich. Geben Sie einen anderen Code ein, zum Beispiel EUR.
proceed = Weiter

## Card form

card-details = Kartendaten
form-error = Bitte korrigieren Sie die markierten Felder.
card-number = Kartennummer
card-number-error = Geben Sie die Kartennummer ein, 12 bis 19 Ziffern.
card-number-typo = Prüfen Sie die Kartennummer: Eine Ziffer ist falsch.
accepted-cards = Akzeptierte Karten
expiry-date = Gültig bis
expiry-date-malformed = Geben Sie Monat und Jahr wie auf der Karte ein, zum Beispiel 08/29.
expiry-date-past = Die Karte ist abgelaufen. Prüfen Sie das Datum oder verwenden Sie eine andere Karte.
security-code = Sicherheitscode
security-code-hint = 3 oder 4 Ziffern auf der Karte
security-code-error = Geben Sie die 3 oder 4 Ziffern des Sicherheitscodes ein.
security-code-back = Geben Sie die 3 Ziffern auf der Rückseite der Karte ein.
security-code-front = Geben Sie die 4 Ziffern auf der Vorderseite der Karte ein.
needs-script = Um hier zu bezahlen, schalten Sie JavaScript ein und laden Sie die Seite neu.
card-saved = Ihre Karte wird für spätere Zahlungen an diesen Händler gespeichert.
receipt-email = E-Mail-Adresse für Ihren Beleg (freiwillig)
pay = { $amount } zahlen

## Payment in progress

processing = Ihre Zahlung wird verarbeitet
processing-hint = Diese Seite aktualisiert sich automatisch. Bitte zahlen Sie nicht noch einmal.
check-again = Erneut prüfen
confirm-payment = Zahlung freigeben
simulated-bank = Simulierte Bank für Tests
confirm-card = Ihre Bank fragt: Möchten Sie diese Zahlung mit der Karte freigeben, die auf { $last4 } endet?
confirm = Freigeben
cancel = Abbrechen

## Result

payment-successful = Zahlung erfolgreich
payment-successful-hint = Sie können diese Seite schließen.
transaction = Transaktion
shop = Händler
date = Datum
card = Karte
reference = Referenz
receipt = Zahlungsbeleg
payment-failed = Zahlung fehlgeschlagen
declined-details = Die Bank hat die Kartendaten nicht akzeptiert. Prüfen Sie die Angaben und versuchen Sie es erneut.
declined-expired = Die Karte ist abgelaufen. Verwenden Sie eine andere Karte.
declined-funds = Das Konto ist nicht ausreichend gedeckt oder das Kartenlimit ist überschritten. Verwenden Sie eine andere Karte.
declined-bank = Die Bank hat die Zahlung abgelehnt. Verwenden Sie eine andere Karte oder wenden Sie sich an Ihre Bank.
declined-again = Es ist ein Fehler aufgetreten. Es wurde nichts abgebucht. Bitte versuchen Sie es erneut.
declined-unsupported = Diese Karte wird nicht akzeptiert. Verwenden Sie eine andere Karte.
declined-unconfirmed = Die Zahlung wurde bei Ihrer Bank nicht freigegeben.
declined-shop = Der Händler kann diese Zahlung nicht annehmen. Bitte wenden Sie sich an ihn.
try-again = Erneut versuchen
back-to-shop = Zurück zum Händler

## Problems

link-broken = Dieser Zahlungslink funktioniert nicht
link-broken-hint = Bitten Sie den Händler um einen neuen.
link-used = Dieser Link wurde bereits verwendet
link-expired = Dieser Zahlungslink ist abgelaufen
form-expired = Diese Seite ist zu alt
form-expired-hint = Es wurde nichts abgebucht, und Ihre Eingaben wurden nicht gespeichert.
unavailable = Zahlungen sind im Moment nicht möglich
unavailable-hint = Versuchen Sie es in einigen Minuten erneut. Es wird nichts doppelt abgebucht.
too-many-attempts = Zu viele Versuche
too-many-attempts-hint = Warten Sie einige Minuten und versuchen Sie es dann erneut. Es wurde nichts abgebucht.

## Invitation e-mail

invitation-subject = Einladung zu { $merchant }
invitation-greeting = Guten Tag,
invitation-by-app = { $app } hat Sie eingeladen, bei der Verwaltung der Zahlungen von { $merchant } mitzuhelfen.
invitation = Sie wurden eingeladen, bei der Verwaltung der Zahlungen von { $merchant } mitzuhelfen.
invitation-more = Die Person, die Sie eingeladen hat, kann Ihnen mehr dazu sagen.
invitation-unexpected = Wenn Sie diese Nachricht nicht erwartet haben, können Sie sie ignorieren.

## Mails of the desk

invitation-link = Öffnen Sie diese Seite innerhalb von 72 Stunden, um die Einladung anzunehmen und sich anzumelden:
sign-in-subject = Ihr Link zur Anmeldung
sign-in-mail = öffnen Sie diese Seite innerhalb von 15 Minuten in dem Browser, in dem Sie den Link angefordert haben:
sign-in-unexpected = Wenn Sie diesen Link nicht angefordert haben, können Sie diese Nachricht ignorieren. Ohne den Link kann sich niemand anmelden.
receipt-mail = Sie haben { $amount } an { $merchant } gezahlt. Dieser Link zeigt 18 Monate lang den Beleg und spätere Erstattungen:
dispute-subject = Anfechtung einer Zahlung an { $merchant }
dispute-mail = Ein Kunde ficht { $amount } einer Zahlung an { $merchant } an. Sie kann bis { $day } beantwortet werden.
payout-subject = Auszahlung an { $merchant }
payout-mail = { $amount } sind unterwegs zum Bankkonto von { $merchant }.
return-subject = Eine Auszahlung an { $merchant } kam zurück
return-mail = Die Bank hat { $amount } zurückgeschickt, die an { $merchant } ausgezahlt wurden. Weitere Auszahlungen warten, bis das Bankkonto stimmt.
webhook-subject = Ein Webhook von { $merchant } ist abgeschaltet
webhook-mail = Ein Webhook einer App von { $merchant } ist abgeschaltet, weil seine Zustellungen fehlschlugen. Die App erfährt nichts mehr von Zahlungen.
more-at-desk = Mehr finden Sie in der Verwaltung. Dort wählen Sie auch, welche Nachrichten Sie bekommen:

## Desk: sign in

sign-in = Anmelden
email-address = E-Mail-Adresse
email-address-hint = Wir senden Ihnen einen Link zur Anmeldung.
email-address-error = Geben Sie Ihre E-Mail-Adresse ein, zum Beispiel ann@shop.example.
send-link = Link senden
check-mail = Prüfen Sie Ihr Postfach
check-mail-hint = Wenn { $email } zu einem Benutzer gehört, haben wir einen Link gesendet. Öffnen Sie ihn innerhalb von 15 Minuten in diesem Browser.
sign-in-as = Sie melden sich als { $email } an.
sign-in-broken = Dieser Link funktioniert nicht
sign-in-broken-hint = Er wurde bereits verwendet, ist zu alt oder gehört zu einem anderen Browser.
new-link = Neuen Link anfordern
wait-hint = Warten Sie einige Minuten und versuchen Sie es dann erneut.
desk-unavailable = Diese Seite ist im Moment nicht verfügbar

## Desk: every page

merchants = Händler
test-mark = Test
sign-out = Abmelden
foreign-form = Dieses Formular wurde von einer anderen Website gesendet
foreign-form-hint = Es wurde nichts ausgeführt. Gehen Sie zurück und senden Sie das Formular erneut.
not-found = Diese Seite gibt es nicht
merchant-held = Angehalten: { $reason }
not-approved = Dieser Shop nimmt erst Zahlungen an, wenn der Betreiber ihn freigibt

## Desk: payments

payments = Zahlungen
search = Suchen
more-filters = Weitere Filter
last-four = Letzte vier Ziffern der Karte
last-four-error = Geben Sie vier Ziffern ein.
from-day = Von
to-day = Bis
day-error = Geben Sie ein Datum ein, zum Beispiel 2026-11-28.
state = Status
all-states = Alle Status
nothing-found = Es wurden keine Zahlungen gefunden.
download-csv = CSV herunterladen
older-payments = Ältere Zahlungen
newest-payments = Neueste Zahlungen
all-merchants = Alle Händler
balance = Saldo
authorized = Autorisiert
captured = Eingezogen
partly-captured = Teilweise eingezogen
refunded = Erstattet
partly-refunded = Teilweise erstattet
voided = Storniert
disputed = Angefochten
failed = Fehlgeschlagen
dispute-won = Anfechtung gewonnen
dispute-lost = Anfechtung verloren
evidence-submitted = Nachweise eingereicht
dispute-accepted = Verlust akzeptiert
history = Verlauf
fees = Gebühren

## Desk: capture, refund and release

capture = Einziehen
refund = Erstatten
release = Freigeben
at-most = Höchstens { $amount }
available = Verfügbar
left-afterwards = Danach übrig
changed-meanwhile = Die Zahlung hat sich inzwischen geändert. Prüfen Sie den Betrag.
movement-refused = Das ist nicht mehr möglich, oder nicht mit diesem Betrag.

## Desk: mails

mails = E-Mails
mails-hint = Welche E-Mails über diesen Shop möchten Sie?
mail-dispute = Ein Kunde ficht eine Zahlung an
mail-payout = Das Guthaben wird ausgezahlt
mail-return = Eine Auszahlung kam zurück
mail-webhook = Ein Webhook ist abgeschaltet
save = Speichern
saved = Gespeichert

## Desk: account

account = Konto
authenticator = Authentifizierungs-App
authenticator-works = Ihre Authentifizierungs-App ist eingerichtet.
authenticator-missing = Bevor Sie Geld bewegen oder Schlüssel ändern, brauchen Sie einen Code einer Authentifizierungs-App auf Ihrem Telefon oder Computer.
set-up-authenticator = Authentifizierungs-App einrichten
remove-authenticator = Authentifizierungs-App entfernen
scan-code = Scannen Sie diesen Code mit der App.
qr-code = QR-Code
type-secret = Oder geben Sie diesen Schlüssel in die App ein:
enter-code = Code eingeben
code = Code
code-hint = Sechs Ziffern aus Ihrer Authentifizierungs-App oder ein Wiederherstellungscode.
first-code-hint = Die sechs Ziffern, die die App anzeigt.
code-error = Dieser Code funktioniert nicht. Geben Sie den nächsten ein.
code-locked = Zu viele falsche Codes. Warten Sie 15 Minuten und versuchen Sie es dann erneut.
recovery-codes = Wiederherstellungscodes
recovery-codes-hint = Wenn Sie die App verlieren, geben Sie einen dieser Codes ein. Jeder funktioniert einmal. Bewahren Sie sie jetzt an einem sicheren Ort auf: Diese Seite zeigt sie nicht noch einmal.
recovery-codes-left = Verbleibende Wiederherstellungscodes: { $count }
new-recovery-codes = Neue Wiederherstellungscodes erstellen
sessions = Wo Sie angemeldet sind
session-began = Angemeldet: { $time }
session-used = Zuletzt verwendet: { $time }
this-session = Dieser Browser
end-sessions = In allen anderen Browsern abmelden

## Desk: balance and disputes

payouts = Auszahlungen
all-payouts = Alle Auszahlungen
payout = Auszahlung
payout-returned = Auszahlung zurückgekommen
paid-out = Ausgezahlt
month = Monat
next-page = Nächste Seite
first-page = Erste Seite
nothing-yet = Noch nichts
disputes = Anfechtungen
open-disputes = Offene Anfechtungen
decided-disputes = Entschiedene Anfechtungen
days-left = Verbleibende Tage: { $days }
inquiry = Anfrage
evidence = Nachweise
evidence-text = Ihre Erklärung
evidence-files = Dateien
evidence-hint = Höchstens 5 PDF-, PNG- oder JPEG-Dateien, zusammen 4,5 MB, und 20.000 Zeichen. Neue Dateien ersetzen die gespeicherten.
submit-evidence = Nachweise einreichen
submit-evidence-hint = Sie können nur einmal einreichen. Danach entscheidet die Bank des Kunden.
accept-dispute = Verlust akzeptieren
accept-dispute-hint = Der Kunde behält das Geld. Das lässt sich nicht rückgängig machen.

## Desk: overview

overview = Übersicht
next-payout = Wartet auf die nächste Auszahlung
payouts-held = Auszahlungen sind angehalten
refused-captures = Vom Acquirer abgelehnt, letzte 30 Tage
disabled-webhooks = Deaktivierte Webhooks
last-days = Eingezogen abzüglich erstattet, letzte 30 Tage
days-in-utc = Tage in UTC
as-table = Als Tabelle
day = Tag

## Desk: people

people = Personen
member-since = Mitglied seit { $time }
invited = Eingeladen
invited-until = Eingeladen: Der Link gilt bis { $time }
invitation-expired = Die Einladung ist abgelaufen
invite = Einladen
invite-hint = Die Person bekommt per E-Mail einen Link, der 72 Stunden gilt, und kann dann hier alles tun.
invite-again = Erneut einladen
remove = { $name } entfernen?
remove-hint = Der Zugang zu diesem Shop endet sofort.
remove-yourself = Sich selbst entfernen?
remove-button = Entfernen
last-member = Das letzte Mitglied kann nicht entfernt werden. Laden Sie zuerst jemanden ein.
apps = Apps

## Desk: developers

developers = Entwickler
foreign-app = Diese App arbeitet auch für Shops, in denen Sie kein Mitglied sind. Darum können Sie ihre Schlüssel und Webhooks nicht verwalten.
api-keys = API-Schlüssel
created-on = Erstellt { $time }
last-used = Zuletzt benutzt { $time }
never-used = Nie benutzt
key-name = Name des Schlüssels
create-key = Schlüssel erstellen
key-created = API-Schlüssel erstellt
too-many-keys = Diese App hat 20 Schlüssel, mehr sind nicht möglich. Entfernen Sie zuerst einen.
last-key = Der letzte Schlüssel kann nicht entfernt werden. Erstellen Sie zuerst einen anderen.
remove-key-hint = Programme mit diesem Schlüssel werden sofort abgewiesen.
secret-once = Nur dieses eine Mal sichtbar. Kopieren Sie den Text an einen sicheren Ort.
secret-shown = Der Text war einmal sichtbar und kann nicht noch einmal gezeigt werden.
webhooks = Webhooks
create-webhook = Webhook erstellen
webhook-url = Adresse (URL)
webhook-url-error = Geben Sie eine Adresse ein, die mit https:// beginnt und aus dem Internet erreichbar ist.
event-types = Ereignisse
event-types-hint = Ohne Auswahl werden alle Ereignisse gesendet.
too-many-webhooks = Diese App hat 20 Webhooks, mehr sind nicht möglich. Entfernen Sie zuerst einen.
enabled = Aktiv
disabled = Deaktiviert
disabled-failures = Deaktiviert, weil Zustellungen fünf Tage lang fehlgeschlagen sind
disabled-gone = Deaktiviert, weil der Empfänger keine Ereignisse mehr will
send-test = Test senden
new-secret = Neues Geheimnis
send-again = Ereignisse erneut senden
new-secret-hint = 24 Stunden lang signiert auch das alte Geheimnis.
send-again-hint = Alle Ereignisse seit Beginn dieses Tages werden erneut gesendet.
remove-webhook-hint = An diese Adresse wird nichts mehr gesendet.
deliveries = Zustellungen
delivered = Zugestellt
next-attempt = Nächster Versuch { $time }

## Desk: payment links

payment-links = Zahlungslinks
link-text = Text für den Kunden
link-text-error = Verwenden Sie weniger Zeichen, und nur Buchstaben, Ziffern und Satzzeichen.
link-once = Kann nur einmal bezahlt werden
link-language = Sprache der Seite
link-language-browser = Wie im Browser des Kunden
link-unsigned = Dieser Shop hat keinen Schlüssel für Links. Darum sind die Links nicht signiert, und Kunden können den Betrag ändern.
make-link = Link erstellen
payment-link = Zahlungslink

## Desk: log

log = Protokoll
operator = Betreiber
acquirer = Acquirer
automatically = Automatisch
fraud-reported = Betrugsverdacht
acquirer-refused = Vom Acquirer abgelehnt
merchant-released = Nicht mehr angehalten
bank-changed = Bankkonto geändert
invited-again = Erneut eingeladen
invitation-accepted = Einladung angenommen
member-removed = Mitglied entfernt
app-added = App hinzugefügt
app-removed = App entfernt
key-removed = API-Schlüssel entfernt
webhook-created = Webhook erstellt
webhook-changed = Webhook geändert
webhook-removed = Webhook entfernt
