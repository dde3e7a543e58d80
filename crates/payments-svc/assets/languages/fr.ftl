### French

## Every page

payment-to-shop = Paiement à { $shop }
test-payment = Ceci est un test : aucun montant ne sera débité.
contact = Questions sur votre commande
terms = Conditions générales
privacy = Politique de confidentialité
accessibility = Accessibilité

## Amount form

amount = Montant
amount-error =
    { $decimals ->
        [0] Saisissez le montant en chiffres, sans décimales.
        [one] Saisissez le montant en chiffres, avec { $decimals } décimale au maximum.
       *[other] Saisissez le montant en chiffres, avec { $decimals } décimales au maximum.
    }
currency = Devise
currency-error = Saisissez un code de devise à trois lettres, par exemple EUR.
currency-unknown = Les paiements dans cette devise ne sont pas possibles. Saisissez un autre code, par exemple EUR.
proceed = Continuer

## Card form

card-details = Coordonnées de la carte
form-error = Veuillez corriger les champs signalés.
card-number = Numéro de carte
card-number-error = Saisissez le numéro de la carte, de 12 à 19 chiffres.
card-number-typo = Vérifiez le numéro de la carte : un chiffre est faux.
accepted-cards = Cartes acceptées
expiry-date = Date d’expiration
expiry-date-malformed = Saisissez le mois et l’année indiqués sur la carte, par exemple 08/29.
expiry-date-past = La carte a expiré. Vérifiez la date ou utilisez une autre carte.
security-code = Code de sécurité
security-code-hint = 3 ou 4 chiffres sur la carte
security-code-error = Saisissez les 3 ou 4 chiffres du code de sécurité.
security-code-back = Saisissez les 3 chiffres au dos de la carte.
security-code-front = Saisissez les 4 chiffres au recto de la carte.
needs-script = Pour payer ici, activez JavaScript et rechargez la page.
card-saved = Votre carte sera enregistrée pour de futurs paiements auprès de ce commerçant.
receipt-email = E-mail pour votre reçu (facultatif)
pay = Payer { $amount }

## Payment in progress

processing = Votre paiement est en cours de traitement
processing-hint = Cette page s’actualise automatiquement. Veuillez ne pas payer à nouveau.
check-again = Vérifier à nouveau
confirm-payment = Confirmez le paiement
simulated-bank = Banque simulée, pour les tests
confirm-card = Votre banque vous demande : effectuez-vous ce paiement avec la carte se terminant par { $last4 } ?
confirm = Confirmer
cancel = Annuler

## Result

payment-successful = Paiement réussi
payment-successful-hint = Vous pouvez fermer cette page.
transaction = Transaction
shop = Marchand
date = Date
card = Carte
reference = Référence
receipt = Reçu
payment-failed = Échec du paiement
declined-details = La banque n’a pas accepté les informations de la carte. Vérifiez-les et réessayez.
declined-expired = La carte a expiré. Essayez une autre carte.
declined-funds = Le solde du compte est insuffisant ou le plafond de la carte est dépassé. Essayez une autre carte.
declined-bank = La banque a refusé le paiement. Essayez une autre carte ou contactez votre banque.
declined-again = Une erreur est survenue, mais rien n’a été débité. Veuillez réessayer.
declined-unsupported = Cette carte n’est pas acceptée. Essayez une autre carte.
declined-unconfirmed = Le paiement n’a pas été confirmé auprès de votre banque.
declined-shop = Le commerçant ne peut pas accepter ce paiement. Veuillez le contacter.
try-again = Réessayer
back-to-shop = Retour au site du commerçant

## Problems

link-broken = Ce lien de paiement ne fonctionne pas
link-broken-hint = Demandez-en un nouveau au commerçant.
link-used = Ce lien a déjà été utilisé
link-expired = Ce lien de paiement a expiré
form-expired = Cette page est trop ancienne
form-expired-hint = Vous n’avez pas été débité, et rien de ce que vous avez saisi n’a été conservé.
unavailable = Le paiement est indisponible pour le moment
unavailable-hint = Réessayez dans quelques minutes. Le montant ne sera pas débité deux fois.
too-many-attempts = Trop de tentatives
too-many-attempts-hint = Patientez quelques minutes, puis réessayez. Rien n’a été débité.

## Invitation e-mail

invitation-subject = Invitation à rejoindre { $merchant }
invitation-greeting = Bonjour,
invitation-by-app = { $app } vous invite à participer à la gestion des paiements de { $merchant }.
invitation = Vous avez reçu une invitation à participer à la gestion des paiements de { $merchant }.
invitation-more = La personne à l’origine de cette invitation peut vous en dire plus.
invitation-unexpected = Si vous n’attendiez pas ce message, vous pouvez l’ignorer.

## Mails of the desk

invitation-link = Ouvrez cette page dans les 72 heures pour accepter l’invitation et vous connecter :
sign-in-subject = Votre lien de connexion
sign-in-mail = Ouvrez cette page dans les 15 minutes, dans le navigateur où vous avez demandé le lien :
sign-in-unexpected = Si vous n’avez pas demandé ce lien, vous pouvez ignorer ce message. Personne ne peut se connecter sans ce lien.
receipt-mail = Vous avez payé { $amount } à { $merchant }. Ce lien affiche pendant 18 mois le reçu et les remboursements ultérieurs :
dispute-subject = Litige sur un paiement de { $merchant }
dispute-mail = Un client conteste { $amount } d’un paiement de { $merchant }. Vous pouvez répondre jusqu’au { $day }.
payout-subject = Versement à { $merchant }
payout-mail = { $amount } sont en route vers le compte bancaire de { $merchant }.
return-subject = Un versement à { $merchant } est revenu
return-mail = La banque a renvoyé { $amount } versés à { $merchant }. Les prochains versements attendent que le compte bancaire soit correct.
webhook-subject = Un webhook de { $merchant } est désactivé
webhook-mail = Un webhook d’une application de { $merchant } est désactivé, car ses envois ont échoué. L’application n’est plus informée des paiements.
more-at-desk = Vous en trouverez plus dans l’espace de gestion, où vous choisissez aussi vos messages :

## Desk: sign in

sign-in = Se connecter
email-address = Adresse e-mail
email-address-hint = Nous vous enverrons un lien de connexion.
email-address-error = Saisissez votre adresse e-mail, par exemple ann@shop.example.
send-link = Envoyer le lien
check-mail = Consultez votre messagerie
check-mail-hint = Si { $email } correspond à un utilisateur, nous avons envoyé un lien. Ouvrez-le dans ce navigateur dans les 15 minutes.
sign-in-as = Vous vous connectez en tant que { $email }.
sign-in-broken = Ce lien ne fonctionne pas
sign-in-broken-hint = Il a déjà été utilisé, est trop ancien ou a été demandé dans un autre navigateur.
new-link = Demander un nouveau lien
wait-hint = Patientez quelques minutes, puis réessayez.
desk-unavailable = Cette page est indisponible pour le moment

## Desk: every page

merchants = Commerçants
test-mark = Test
sign-out = Se déconnecter
foreign-form = Ce formulaire a été envoyé par un autre site
foreign-form-hint = Aucune opération n’a été effectuée. Revenez en arrière et envoyez à nouveau le formulaire.
not-found = Cette page n’existe pas
merchant-held = En attente : { $reason }
not-approved = Cette boutique n’accepte aucun paiement avant l’approbation de l’opérateur

## Desk: payments

payments = Paiements
search = Rechercher
more-filters = Plus de filtres
last-four = Quatre derniers chiffres de la carte
last-four-error = Saisissez quatre chiffres.
from-day = Du
to-day = Au
day-error = Saisissez une date, par exemple 2026-11-28.
state = État
all-states = Tous les états
nothing-found = Aucun paiement n’a été trouvé.
download-csv = Télécharger le CSV
older-payments = Paiements plus anciens
newest-payments = Paiements les plus récents
all-merchants = Tous les commerçants
balance = Solde
authorized = Autorisé
captured = Encaissé
partly-captured = Encaissé en partie
refunded = Remboursé
partly-refunded = Remboursé en partie
voided = Annulé
disputed = Contesté
failed = Échoué
dispute-won = Litige gagné
dispute-lost = Litige perdu
evidence-submitted = Preuves envoyées
dispute-accepted = Perte acceptée
history = Historique
fees = Frais

## Desk: capture, refund and release

capture = Capturer
refund = Rembourser
release = Libérer
at-most = Au plus { $amount }
available = Disponible
left-afterwards = Reste ensuite
changed-meanwhile = Le paiement a changé entre-temps. Vérifiez le montant.
movement-refused = Ce n’est plus possible, ou pas avec ce montant.

## Desk: mails

mails = E-mails
mails-hint = Quels e-mails sur cette boutique souhaitez-vous ?
mail-dispute = Un client conteste un paiement
mail-payout = Le solde est versé
mail-return = Un versement est revenu
mail-webhook = Un webhook est désactivé
save = Enregistrer
saved = Enregistré

## Desk: account

account = Compte
authenticator = Application d’authentification
authenticator-works = Votre application d’authentification est configurée.
authenticator-missing = Avant de déplacer de l’argent ou de modifier des clés, vous avez besoin d’un code d’une application d’authentification sur votre téléphone ou votre ordinateur.
set-up-authenticator = Configurer une application d’authentification
remove-authenticator = Supprimer l’application d’authentification
scan-code = Scannez ce code avec l’application.
qr-code = Code QR
type-secret = Ou saisissez cette clé dans l’application :
enter-code = Saisissez votre code
code = Code
code-hint = Six chiffres de votre application d’authentification, ou un code de récupération.
first-code-hint = Les six chiffres que l’application affiche.
code-error = Ce code ne fonctionne pas. Saisissez le suivant.
code-locked = Trop de codes erronés. Patientez 15 minutes, puis réessayez.
recovery-codes = Codes de récupération
recovery-codes-hint = Si vous perdez l’application, saisissez l’un de ces codes. Chacun fonctionne une seule fois. Conservez-les maintenant en lieu sûr : cette page ne les affichera plus.
recovery-codes-left = Codes de récupération restants : { $count }
new-recovery-codes = Créer de nouveaux codes de récupération
sessions = Où vous êtes connecté
session-began = Connexion : { $time }
session-used = Dernière utilisation : { $time }
this-session = Ce navigateur
end-sessions = Se déconnecter de tous les autres navigateurs

## Desk: balance and disputes

payouts = Versements
all-payouts = Tous les versements
payout = Versement
payout-returned = Versement retourné
paid-out = Versé
month = Mois
next-page = Page suivante
first-page = Première page
nothing-yet = Rien pour le moment
disputes = Litiges
open-disputes = Litiges ouverts
decided-disputes = Litiges tranchés
days-left = Jours restants : { $days }
inquiry = Demande d’information
evidence = Preuves
evidence-text = Votre explication
evidence-files = Fichiers
evidence-hint = Au plus 5 fichiers PDF, PNG ou JPEG, 4,5 Mo en tout, et 20 000 caractères. Les nouveaux fichiers remplacent ceux qui sont enregistrés.
submit-evidence = Envoyer les preuves
submit-evidence-hint = Un seul envoi est possible. Ensuite, la banque du client décide.
accept-dispute = Accepter la perte
accept-dispute-hint = Le client garde l’argent. C’est irréversible.

## Desk: overview

overview = Vue d’ensemble
next-payout = En attente du prochain versement
payouts-held = Les versements sont suspendus
refused-captures = Refusé par l’acquéreur, 30 derniers jours
disabled-webhooks = Webhooks désactivés
last-days = Encaissé moins remboursé, 30 derniers jours
days-in-utc = Les jours sont en UTC
as-table = Sous forme de tableau
day = Jour

## Desk: people

people = Personnes
member-since = Membre depuis { $time }
invited = Invité
invited-until = Invité : le lien fonctionne jusqu’au { $time }
invitation-expired = L’invitation a expiré
invite = Inviter
invite-hint = La personne reçoit par e-mail un lien qui fonctionne pendant 72 heures, et peut ensuite tout faire ici.
invite-again = Inviter à nouveau
remove = Retirer { $name } ?
remove-hint = L’accès à cette boutique prend fin immédiatement.
remove-yourself = Vous retirer vous-même ?
remove-button = Retirer
last-member = Le dernier membre ne peut pas être retiré. Invitez d’abord quelqu’un.
apps = Applications

## Desk: developers

developers = Développeurs
foreign-app = Cette application travaille aussi pour des boutiques dont vous n’êtes pas membre : vous ne pouvez donc pas gérer ses clés et webhooks.
api-keys = Clés d’API
created-on = Créée le { $time }
last-used = Dernière utilisation { $time }
never-used = Jamais utilisée
key-name = Nom de la clé
create-key = Créer une clé
key-created = Clé d’API créée
too-many-keys = Cette application a 20 clés, le maximum. Retirez-en d’abord une.
last-key = La dernière clé ne peut pas être retirée. Créez-en d’abord une autre.
remove-key-hint = Les programmes qui utilisent cette clé sont refusés immédiatement.
secret-once = Affiché cette seule fois. Copiez-le en lieu sûr.
secret-shown = Il a été affiché une fois et ne peut plus l’être.
webhooks = Webhooks
create-webhook = Créer un webhook
webhook-url = Adresse (URL)
webhook-url-error = Saisissez une adresse qui commence par https:// et qui est accessible depuis Internet.
event-types = Événements
event-types-hint = Sans choix, tous les événements sont envoyés.
too-many-webhooks = Cette application a 20 webhooks, le maximum. Retirez-en d’abord un.
enabled = Activé
disabled = Désactivé
disabled-failures = Désactivé, car les livraisons ont échoué pendant cinq jours
disabled-gone = Désactivé, car le destinataire ne veut plus d’événements
send-test = Envoyer un test
new-secret = Nouveau secret
send-again = Renvoyer des événements
new-secret-hint = Pendant 24 heures, l’ancien secret signe aussi.
send-again-hint = Tous les événements depuis le début de ce jour sont renvoyés.
remove-webhook-hint = Plus rien n’est envoyé à cette adresse.
deliveries = Livraisons
delivered = Livré
next-attempt = Prochain essai { $time }

## Desk: payment links

payment-links = Liens de paiement
link-text = Texte pour le client
link-text-error = Utilisez moins de caractères, et seulement des lettres, des chiffres et des signes de ponctuation.
link-once = Payable une seule fois
link-language = Langue de la page
link-language-browser = Comme dans le navigateur du client
link-unsigned = Cette boutique n’a pas de clé pour les liens : ils ne sont donc pas signés, et les clients peuvent changer le montant.
make-link = Créer le lien
payment-link = Lien de paiement

## Desk: log

log = Journal
operator = Opérateur
acquirer = Acquéreur
automatically = Automatiquement
fraud-reported = Soupçon de fraude
acquirer-refused = Refusé par l’acquéreur
merchant-released = N’est plus en attente
bank-changed = Compte bancaire modifié
invited-again = Invité à nouveau
invitation-accepted = Invitation acceptée
member-removed = Membre retiré
app-added = Application ajoutée
app-removed = Application retirée
key-removed = Clé d’API retirée
webhook-created = Webhook créé
webhook-changed = Webhook modifié
webhook-removed = Webhook retiré
