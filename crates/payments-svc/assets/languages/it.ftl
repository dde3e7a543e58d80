### Italian

## Every page

payment-to-shop = Pagamento a { $shop }
test-payment = Questo è un test: non verrà addebitato nulla.
contact = Domande sul suo ordine
terms = Termini e condizioni
privacy = Informativa sulla privacy
accessibility = Accessibilità

## Amount form

amount = Importo
amount-error =
    { $decimals ->
        [0] Inserisca l’importo in cifre, senza decimali.
        [one] Inserisca l’importo in cifre, con al massimo { $decimals } decimale.
       *[other] Inserisca l’importo in cifre, con al massimo { $decimals } decimali.
    }
currency = Valuta
currency-error = Inserisca un codice valuta di tre lettere, ad esempio EUR.
currency-unknown = Non è possibile pagare in questa valuta. Inserisca un altro codice, ad esempio EUR.
proceed = Continua

## Card form

card-details = Dati della carta
form-error = Corregga i campi evidenziati.
card-number = Numero della carta
card-number-error = Inserisca il numero della carta, da 12 a 19 cifre.
card-number-typo = Controlli il numero della carta: una cifra è errata.
accepted-cards = Carte accettate
expiry-date = Data di scadenza
expiry-date-malformed = Inserisca il mese e l’anno indicati sulla carta, ad esempio 08/29.
expiry-date-past = La carta è scaduta. Controlli la data o usi un’altra carta.
security-code = Codice di sicurezza
security-code-hint = 3 o 4 cifre sulla carta
security-code-error = Inserisca le 3 o 4 cifre del codice di sicurezza.
security-code-back = Inserisca le 3 cifre sul retro della carta.
security-code-front = Inserisca le 4 cifre sul fronte della carta.
needs-script = Per pagare qui, attivi JavaScript e ricarichi la pagina.
card-saved = La sua carta sarà salvata per pagamenti futuri a questo negozio.
receipt-email = E-mail per la sua ricevuta (facoltativa)
pay = Paga { $amount }

## Payment in progress

processing = Il pagamento è in elaborazione
processing-hint = Questa pagina si aggiorna automaticamente. Non paghi di nuovo.
check-again = Controlla di nuovo
confirm-payment = Confermi il pagamento
simulated-bank = Banca simulata, per i test
confirm-card = La sua banca le chiede: sta effettuando questo pagamento con la carta che termina con { $last4 }?
confirm = Conferma
cancel = Annulla

## Result

payment-successful = Pagamento effettuato
payment-successful-hint = Può chiudere questa pagina.
transaction = Transazione
shop = Esercente
date = Data
card = Carta
reference = Riferimento
receipt = Ricevuta
payment-failed = Pagamento non riuscito
declined-details = La banca non ha accettato i dati della carta. Li controlli e riprovi.
declined-expired = La carta è scaduta. Provi con un’altra.
declined-funds = Il saldo del conto non è sufficiente o il limite della carta è stato superato. Provi con un’altra carta.
declined-bank = La banca ha rifiutato il pagamento. Provi con un’altra carta o contatti la sua banca.
declined-again = Si è verificato un errore, ma non è stato addebitato nulla. Riprovi.
declined-unsupported = Questa carta non è accettata. Provi con un’altra.
declined-unconfirmed = Il pagamento non è stato confermato presso la sua banca.
declined-shop = Il negozio non può accettare questo pagamento. Contatti il negozio.
try-again = Riprova
back-to-shop = Torna al negozio

## Problems

link-broken = Questo link di pagamento non funziona
link-broken-hint = Ne chieda uno nuovo al negozio.
link-used = Questo link è già stato usato
link-expired = Questo link di pagamento è scaduto
form-expired = Questa pagina è troppo vecchia
form-expired-hint = Non è stato addebitato nulla e nessun dato inserito è stato conservato.
unavailable = Al momento non è possibile pagare
unavailable-hint = Riprovi tra qualche minuto. L’importo non verrà addebitato due volte.
too-many-attempts = Troppi tentativi
too-many-attempts-hint = Attenda qualche minuto e riprovi. Non è stato addebitato nulla.

## Invitation e-mail

invitation-subject = Invito: { $merchant }
invitation-greeting = Buongiorno,
invitation-by-app = { $app } invita a collaborare alla gestione dei pagamenti di { $merchant }.
invitation = con questo messaggio riceve un invito a collaborare alla gestione dei pagamenti di { $merchant }.
invitation-more = La persona che ha inviato l’invito può fornire maggiori informazioni.
invitation-unexpected = Se non aspettava questo messaggio, può ignorarlo.

## Mails of the desk

invitation-link = Apra questa pagina entro 72 ore per accettare l’invito e accedere:
sign-in-subject = Il suo link per accedere
sign-in-mail = apra questa pagina entro 15 minuti, nel browser in cui ha richiesto il link:
sign-in-unexpected = Se non ha richiesto questo link, può ignorare questo messaggio. Nessuno può accedere senza il link.
receipt-mail = ha pagato { $amount } a { $merchant }. Questo link mostra per 18 mesi la ricevuta e i rimborsi successivi:
dispute-subject = Contestazione di un pagamento di { $merchant }
dispute-mail = Un cliente contesta { $amount } di un pagamento di { $merchant }. È possibile rispondere fino al { $day }.
payout-subject = Versamento a { $merchant }
payout-mail = { $amount } sono in arrivo sul conto bancario di { $merchant }.
return-subject = Un versamento a { $merchant } è tornato indietro
return-mail = La banca ha restituito { $amount } versati a { $merchant }. Gli altri versamenti attendono finché il conto bancario non è corretto.
webhook-subject = Un webhook di { $merchant } è disattivato
webhook-mail = Un webhook di un’app di { $merchant } è disattivato, perché le sue consegne sono fallite. L’app non viene più informata dei pagamenti.
more-at-desk = Trova di più nel pannello, dove sceglie anche quali messaggi ricevere:

## Desk: sign in

sign-in = Accedi
email-address = Indirizzo e-mail
email-address-hint = Le invieremo un link per accedere.
email-address-error = Inserisca il suo indirizzo e-mail, ad esempio ann@shop.example.
send-link = Invia il link
check-mail = Controlli la sua posta
check-mail-hint = Se { $email } appartiene a un utente, abbiamo inviato un link. Lo apra in questo browser entro 15 minuti.
sign-in-as = Sta accedendo come { $email }.
sign-in-broken = Questo link non funziona
sign-in-broken-hint = È già stato usato, è troppo vecchio o appartiene a un altro browser.
new-link = Richiedi un nuovo link
wait-hint = Attenda qualche minuto e riprovi.
desk-unavailable = Al momento questa pagina non è disponibile

## Desk: every page

merchants = Esercenti
test-mark = Test
sign-out = Esci
foreign-form = Questo modulo è stato inviato da un altro sito web
foreign-form-hint = Non è stata eseguita alcuna operazione. Torni indietro e invii di nuovo il modulo.
not-found = Questa pagina non esiste
merchant-held = In sospeso: { $reason }
not-approved = Questo negozio non accetta pagamenti prima dell’approvazione del gestore

## Desk: payments

payments = Pagamenti
search = Cerca
more-filters = Altri filtri
last-four = Ultime quattro cifre della carta
last-four-error = Inserisca quattro cifre.
from-day = Dal
to-day = Al
day-error = Inserisca una data, ad esempio 2026-11-28.
state = Stato
all-states = Tutti gli stati
nothing-found = Nessun pagamento trovato.
download-csv = Scarica CSV
older-payments = Pagamenti meno recenti
newest-payments = Pagamenti più recenti
all-merchants = Tutti gli esercenti
balance = Saldo
authorized = Autorizzato
captured = Incassato
partly-captured = Incassato in parte
refunded = Rimborsato
partly-refunded = Rimborsato in parte
voided = Annullato
disputed = Contestato
failed = Non riuscito
dispute-won = Contestazione vinta
dispute-lost = Contestazione persa
evidence-submitted = Prove inviate
dispute-accepted = Perdita accettata
history = Cronologia
fees = Commissioni

## Desk: capture, refund and release

capture = Incassa
refund = Rimborsa
release = Svincola
at-most = Al massimo { $amount }
available = Disponibile
left-afterwards = Rimane dopo
changed-meanwhile = Il pagamento è cambiato nel frattempo. Controlli l’importo.
movement-refused = Non è più possibile, o non con questo importo.

## Desk: mails

mails = E-mail
mails-hint = Quali e-mail su questo negozio desidera?
mail-dispute = Un cliente contesta un pagamento
mail-payout = Il saldo viene versato
mail-return = Un versamento è tornato indietro
mail-webhook = Un webhook è disattivato
save = Salva
saved = Salvato

## Desk: account

account = Account
authenticator = App di autenticazione
authenticator-works = La sua app di autenticazione è configurata.
authenticator-missing = Prima di spostare denaro o modificare chiavi, le serve un codice di un’app di autenticazione sul telefono o sul computer.
set-up-authenticator = Configura un’app di autenticazione
remove-authenticator = Rimuovi l’app di autenticazione
scan-code = Scansioni questo codice con l’app.
qr-code = Codice QR
type-secret = Oppure inserisca questa chiave nell’app:
enter-code = Inserisca il codice
code = Codice
code-hint = Sei cifre della sua app di autenticazione o un codice di recupero.
first-code-hint = Le sei cifre che l’app mostra.
code-error = Questo codice non funziona. Inserisca il successivo.
code-locked = Troppi codici errati. Attenda 15 minuti e riprovi.
recovery-codes = Codici di recupero
recovery-codes-hint = Se perde l’app, inserisca uno di questi codici. Ognuno funziona una volta sola. Li conservi subito in un luogo sicuro: questa pagina non li mostrerà più.
recovery-codes-left = Codici di recupero rimasti: { $count }
new-recovery-codes = Crea nuovi codici di recupero
sessions = Dove ha effettuato l’accesso
session-began = Accesso: { $time }
session-used = Ultimo utilizzo: { $time }
this-session = Questo browser
end-sessions = Esci da tutti gli altri browser

## Desk: balance and disputes

payouts = Accrediti
all-payouts = Tutti gli accrediti
payout = Accredito
payout-returned = Accredito respinto
paid-out = Accreditato
month = Mese
next-page = Pagina successiva
first-page = Prima pagina
nothing-yet = Ancora niente
disputes = Contestazioni
open-disputes = Contestazioni aperte
decided-disputes = Contestazioni decise
days-left = Giorni rimanenti: { $days }
inquiry = Richiesta di informazioni
evidence = Prove
evidence-text = La sua spiegazione
evidence-files = File
evidence-hint = Al massimo 5 file PDF, PNG o JPEG, 4,5 MB in tutto, e 20.000 caratteri. I nuovi file sostituiscono quelli salvati.
submit-evidence = Invia le prove
submit-evidence-hint = Può inviarle una sola volta. Poi decide la banca del cliente.
accept-dispute = Accetta la perdita
accept-dispute-hint = Il cliente tiene il denaro. Non si può annullare.

## Desk: overview

overview = Panoramica
next-payout = In attesa del prossimo accredito
payouts-held = Gli accrediti sono in sospeso
refused-captures = Rifiutato dall’acquirer, ultimi 30 giorni
disabled-webhooks = Webhook disattivati
last-days = Incassato meno rimborsato, ultimi 30 giorni
days-in-utc = I giorni sono in UTC
as-table = Come tabella
day = Giorno

## Desk: people

people = Persone
member-since = Membro dal { $time }
invited = Invitato
invited-until = Invitato: il link funziona fino al { $time }
invitation-expired = L’invito è scaduto
invite = Invita
invite-hint = La persona riceve per e-mail un link che funziona per 72 ore, e poi può fare tutto qui.
invite-again = Invita di nuovo
remove = Rimuovere { $name }?
remove-hint = L’accesso a questo negozio termina subito.
remove-yourself = Rimuovere se stesso?
remove-button = Rimuovi
last-member = L’ultimo membro non può essere rimosso. Inviti prima qualcuno.
apps = App

## Desk: developers

developers = Sviluppatori
foreign-app = Questa app lavora anche per negozi di cui lei non è membro, quindi non può gestirne le chiavi e i webhook.
api-keys = Chiavi API
created-on = Creata il { $time }
last-used = Ultimo uso { $time }
never-used = Mai usata
key-name = Nome della chiave
create-key = Crea una chiave
key-created = Chiave API creata
too-many-keys = Questa app ha 20 chiavi, il massimo. Ne rimuova prima una.
last-key = L’ultima chiave non può essere rimossa. Ne crei prima un’altra.
remove-key-hint = I programmi che usano questa chiave vengono rifiutati subito.
secret-once = Viene mostrato solo questa volta. Lo copi in un luogo sicuro.
secret-shown = È stato mostrato una volta e non può essere mostrato di nuovo.
webhooks = Webhook
create-webhook = Crea un webhook
webhook-url = Indirizzo (URL)
webhook-url-error = Inserisca un indirizzo che inizia con https:// e sia raggiungibile da internet.
event-types = Eventi
event-types-hint = Senza una scelta, vengono inviati tutti gli eventi.
too-many-webhooks = Questa app ha 20 webhook, il massimo. Ne rimuova prima uno.
enabled = Attivo
disabled = Disattivato
disabled-failures = Disattivato, perché le consegne non sono riuscite per cinque giorni
disabled-gone = Disattivato, perché il destinatario non vuole altri eventi
send-test = Invia una prova
new-secret = Nuovo segreto
send-again = Invia di nuovo gli eventi
new-secret-hint = Per 24 ore firma anche il vecchio segreto.
send-again-hint = Tutti gli eventi dall’inizio di questo giorno vengono inviati di nuovo.
remove-webhook-hint = Non viene più inviato nulla a questo indirizzo.
deliveries = Consegne
delivered = Consegnato
next-attempt = Prossimo tentativo { $time }

## Desk: payment links

payment-links = Link di pagamento
link-text = Testo per il cliente
link-text-error = Usi meno caratteri, e solo lettere, cifre e segni di punteggiatura.
link-once = Si può pagare una sola volta
link-language = Lingua della pagina
link-language-browser = Come nel browser del cliente
link-unsigned = Questo negozio non ha una chiave per i link, quindi i link non sono firmati: i clienti possono cambiare l’importo.
make-link = Crea il link
payment-link = Link di pagamento

## Desk: log

log = Registro
operator = Gestore
acquirer = Acquirer
automatically = Automaticamente
fraud-reported = Sospetto di frode
acquirer-refused = Rifiutato dall’acquirer
merchant-released = Non più in sospeso
bank-changed = Conto bancario modificato
invited-again = Invitato di nuovo
invitation-accepted = Invito accettato
member-removed = Membro rimosso
app-added = App aggiunta
app-removed = App rimossa
key-removed = Chiave API rimossa
webhook-created = Webhook creato
webhook-changed = Webhook modificato
webhook-removed = Webhook rimosso
