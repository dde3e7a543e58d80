### English

## Every page

# $shop: the shop's name or website
payment-to-shop = Payment to { $shop }
test-payment = This is a test: no money is moved.
# Followed by an e-mail address and a website
contact = Questions about your order
terms = Terms and conditions
privacy = Privacy policy
accessibility = Accessibility

## Amount form

amount = Amount
# $decimals: the decimal places of the currency, 0 to 4
amount-error =
    { $decimals ->
        [0] Enter the amount in digits, without decimal places.
        [one] Enter the amount in digits, with at most { $decimals } decimal place.
       *[other] Enter the amount in digits, with at most { $decimals } decimal places.
    }
currency = Currency
currency-error = Enter a three-letter currency code, such as EUR.
currency-unknown = Payments in this currency are not possible. Enter another code, such as EUR.
proceed = Continue

## Card form

card-details = Card details
form-error = Please correct the marked fields.
card-number = Card number
card-number-error = Enter the card number, 12 to 19 digits.
# The check digit of the number does not match
card-number-typo = Check the card number: a digit is wrong.
# The names of card schemes follow, after a colon
accepted-cards = Accepted cards
expiry-date = Expiry date
expiry-date-malformed = Enter the month and year shown on the card, such as 08/29.
expiry-date-past = This card has expired. Check the date, or use another card.
security-code = Security code
security-code-hint = 3 or 4 digits on the card
security-code-error = Enter the 3 or 4 digits of the security code.
# The next two messages are a hint, and an error if the code has another length
security-code-back = Enter the 3 digits on the back of the card.
security-code-front = Enter the 4 digits on the front of the card.
needs-script = To pay here, turn on JavaScript and reload the page.
card-saved = Your card will be saved for later payments to this shop.
# The label of a field
receipt-email = E-mail for your receipt (optional)
# $amount: an amount with its currency
pay = Pay { $amount }

## Payment in progress

processing = Your payment is being processed
processing-hint = This page refreshes automatically. Please do not pay again.
check-again = Check again
# The next five messages are shown by the simulated bank, as a question of the bank
confirm-payment = Confirm the payment
simulated-bank = Simulated bank, for tests
# $last4: the last four digits of the card number
confirm-card = Your bank asks: Are you making this payment with the card ending in { $last4 }?
confirm = Confirm
cancel = Cancel

## Result

payment-successful = Payment successful
payment-successful-hint = You can close this page.
transaction = Transaction
# The next four messages, "Amount" and "Transaction" are labels of a receipt
shop = Shop
date = Date
card = Card
# The shop's number of the order
reference = Reference
# A heading, and the subject of an e-mail
receipt = Receipt
payment-failed = Payment failed
declined-details = The bank did not accept the card details. Check them and try again.
declined-expired = The card has expired. Try another card.
declined-funds = There is not enough money in the account, or the card limit has been exceeded. Try another card.
declined-bank = The bank declined the payment. Try another card, or contact your bank.
declined-again = Something went wrong, but you were not charged. Please try again.
declined-unsupported = This card is not supported. Try another card.
declined-unconfirmed = The payment was not confirmed with your bank.
declined-shop = The shop cannot accept this payment. Please contact the shop.
try-again = Try again
back-to-shop = Back to the shop

## Problems

link-broken = This payment link does not work
link-broken-hint = Ask the shop for a new one.
link-used = This link was used
link-expired = This payment link has expired
form-expired = This page is too old
form-expired-hint = You were not charged, and nothing that you entered was kept.
unavailable = Payments are not available at the moment
unavailable-hint = Try again in a few minutes. You will not be charged twice.
too-many-attempts = Too many attempts
too-many-attempts-hint = Wait a few minutes, then try again. You were not charged.

## Invitation e-mail

# $merchant: the merchant's name or website
invitation-subject = You are invited to { $merchant }
invitation-greeting = Hello,
# The next two messages follow the greeting. $app: the name of the app that invites. The second message is used if
# the app has no name.
invitation-by-app = { $app } has invited you to help manage the payments of { $merchant }.
invitation = You have been invited to help manage the payments of { $merchant }.
invitation-more = The person who invited you can tell you more.
invitation-unexpected = If you did not expect this message, you can ignore it.

## Mails of the desk

# A web address follows, so it ends with a colon
invitation-link = Open this page within 72 hours to accept the invitation and sign in:
sign-in-subject = Your link to sign in
# Follows the greeting of an invitation. A web address follows, so it ends with a colon
sign-in-mail = Open this page within 15 minutes, in the browser in which you asked for it:
sign-in-unexpected = If you did not ask for this link, you can ignore this message. Nobody can sign in without the link.
# Follows the greeting of an invitation. A web address follows, so it ends with a colon
receipt-mail = You paid { $amount } to { $merchant }. This link shows the receipt and later refunds, for 18 months:
# $merchant: the merchant's name or website; $amount: an amount with its currency; $day: a date such as 2026-12-05.
# A dispute: the customer's bank takes the money of a payment back
dispute-subject = Dispute about a payment of { $merchant }
dispute-mail = A customer disputes { $amount } of a payment of { $merchant }. It can be answered until { $day }.
payout-subject = Payout to { $merchant }
payout-mail = { $amount } are on the way to the bank account of { $merchant }.
return-subject = A payout to { $merchant } came back
return-mail = The bank sent back { $amount } that were paid out to { $merchant }. Further payouts wait until the bank account is right.
webhook-subject = A webhook of { $merchant } is disabled
webhook-mail = A webhook of an app of { $merchant } is disabled, because its deliveries failed. The app does not hear of payments any more.
# A web address follows, so it ends with a colon
more-at-desk = You find more at the desk, where you also choose which messages you get:

## Desk: sign in

# A title, and the text of a button
sign-in = Sign in
email-address = E-mail address
email-address-hint = We send you a link to sign in.
email-address-error = Enter your e-mail address, such as ann@shop.example.
send-link = Send the link
check-mail = Check your mail
# $email: an e-mail address
check-mail-hint = If { $email } belongs to a user, we have sent a link. Open it in this browser within 15 minutes.
# $email: an e-mail address
sign-in-as = You sign in as { $email }.
sign-in-broken = This link does not work
sign-in-broken-hint = It was used, is too old, or belongs to another browser.
new-link = Ask for a new link
wait-hint = Wait a few minutes, then try again.
desk-unavailable = This page is not available at the moment

## Desk: every page

# A list of shops. The title of the page
merchants = Merchants
# A mark beside the name of a shop that moves no money
test-mark = Test
sign-out = Sign out
foreign-form = This form was sent by another website
foreign-form-hint = Nothing was done. Go back, and send the form again.
not-found = This page does not exist

# The operator of the service keeps a shop from payments or payouts. $reason: the operator's words
merchant-held = On hold: { $reason }
not-approved = This shop takes no payments before the operator approves it

## Desk: payments

# A heading and a link: the payments of a shop
payments = Payments
search = Search
# Opens the other fields of the form
more-filters = More filters
# The label of a field: the end of a card number
last-four = Last four digits of the card
last-four-error = Enter four digits.
# The labels of two fields for days
from-day = From
to-day = Until
day-error = Enter a day, such as 2026-11-28.
# The label of a list of states of a payment, and its first entry
state = State
all-states = All states
nothing-found = No payments were found.
# A link to a file of a list, for spreadsheets
download-csv = Download CSV
older-payments = Older payments
newest-payments = Newest payments
all-merchants = All merchants
balance = Balance
# The state of a payment, in a list. Also labels of amounts, and steps of its history
authorized = Authorized
captured = Captured
partly-captured = Partly captured
refunded = Refunded
partly-refunded = Partly refunded
voided = Released
disputed = Disputed
failed = Failed
dispute-won = Dispute won
dispute-lost = Dispute lost
evidence-submitted = Evidence submitted
dispute-accepted = Loss accepted
# A list of what happened to a payment
history = History
fees = Fees

## Desk: capture, refund and release

# Verbs, on buttons and as headings: what to do with the amount of a payment
capture = Capture
refund = Refund
release = Release
# A hint and an error. $amount: the largest amount that the user may enter
at-most = At most { $amount }
# Labels of amounts: what can be captured, refunded or released, and the rest of it after that
available = Available
left-afterwards = Left afterwards
changed-meanwhile = The payment has changed in the meantime. Check the amount.
movement-refused = This is not possible any more, or not with this amount.

## Desk: mails

# A heading and a link: the e-mails that the user gets
mails = E-mails
mails-hint = Which e-mails about this shop do you want?
mail-dispute = A customer disputes a payment
mail-payout = The balance is paid out
mail-return = A payout came back
mail-webhook = A webhook is disabled
save = Save
saved = Saved

## Desk: account

# A title and a link: the settings of a user
account = Account
# A heading: an app that makes codes (TOTP)
authenticator = Authenticator app
authenticator-works = Your authenticator app is set up.
authenticator-missing = You need a code of an authenticator app before you move money or change keys. The app is on your phone or computer.
set-up-authenticator = Set up an authenticator app
remove-authenticator = Remove the authenticator app
scan-code = Scan this code with the app.
# The name of an image
qr-code = QR code
# A secret of 32 letters follows, so it ends with a colon
type-secret = Or type this key into the app:
enter-code = Enter your code
# The label of a field
code = Code
code-hint = Six digits from your authenticator app, or a recovery code.
first-code-hint = The six digits that the app shows.
code-error = This code does not work. Enter the next one.
code-locked = Too many wrong codes. Wait 15 minutes, then try again.
recovery-codes = Recovery codes
recovery-codes-hint = If you lose the app, enter one of these codes. Each works once. Keep them in a safe place now: this page does not show them again.
# $count: a number
recovery-codes-left = Recovery codes left: { $count }
new-recovery-codes = Make new recovery codes
# A heading: the browsers in which a user is signed in
sessions = Where you are signed in
# $time: such as 2026-11-28 09:30 UTC
session-began = Signed in { $time }
# $time: such as 2026-11-28 09:30 UTC
session-used = Last used { $time }
# A mark in the list
this-session = This browser
# A button
end-sessions = Sign out in all other browsers

## Desk: balance and disputes

# Transfers of the balance to the bank account of the shop
payouts = Payouts
all-payouts = All payouts
payout = Payout
# The state of a payout: the bank has sent the money back, or not
payout-returned = Payout returned
paid-out = Paid out
month = Month
next-page = Next page
first-page = First page
# In place of an empty list
nothing-yet = Nothing yet
disputes = Disputes
open-disputes = Open disputes
decided-disputes = Decided disputes
# $days: the number of days until the deadline
days-left = Days left: { $days }
# A question about a payment, which can become a dispute
inquiry = Inquiry
# The answer to a dispute
evidence = Evidence
evidence-text = Your explanation
evidence-files = Files
# Also the error, if the text or a file is not accepted
evidence-hint = At most 5 PDF, PNG or JPEG files, 4.5 MB together, and 20,000 characters. New files replace the saved ones.
submit-evidence = Submit evidence
submit-evidence-hint = You can submit once. Then the customer’s bank decides.
accept-dispute = Accept the loss
accept-dispute-hint = The customer keeps the money. This cannot be undone.

## Desk: overview

overview = Overview
# The label of an amount, and a mark beside it
next-payout = Waiting for the next payout
payouts-held = Payouts are on hold
# The acquirer is the company that carries out card payments
refused-captures = Refused by the acquirer, last 30 days
disabled-webhooks = Disabled webhooks
# The title of a chart
last-days = Captured less refunded, last 30 days
days-in-utc = Days are in UTC
# Opens a table with the numbers of the chart
as-table = As a table
day = Day

## Desk: people

# A heading and a link: the users of a shop
people = People
# $time: a date and a time
member-since = Member since { $time }
# The state of a user, and a line of the log
invited = Invited
# $time: a date and a time
invited-until = Invited: the link works until { $time }
invitation-expired = The invitation has expired
# A heading, and the text of a button
invite = Invite
invite-hint = The person gets a link by e-mail, which works for 72 hours, and can then do everything here.
# The text of a button
invite-again = Invite again
# A question. $name: an e-mail address, or the name of an app, key or webhook
remove = Remove { $name }?
remove-hint = The access to this shop ends at once.
remove-yourself = Remove yourself?
# The text of a button
remove-button = Remove
last-member = The last member cannot be removed. Invite somebody first.
# A heading: the programs that have access to a shop
apps = Apps

## Desk: developers

# A heading and a link: the keys and webhooks of programs
developers = Developers
foreign-app = This app also works for shops of which you are not a member, so you cannot manage its keys and webhooks.
api-keys = API keys
# $time: a date and a time
created-on = Created { $time }
last-used = Last used { $time }
never-used = Never used
key-name = Name of the key
# The text of a button
create-key = Create a key
# A heading, and a line of the log
key-created = API key created
too-many-keys = This app has 20 keys, which is the maximum. Remove one first.
last-key = The last key cannot be removed. Create another one first.
remove-key-hint = Programs that use this key are refused at once.
# About a new key or secret, which is shown under the first of these messages
secret-once = It is shown only this once. Copy it to a safe place.
secret-shown = It was shown once, and cannot be shown again.
webhooks = Webhooks
# A heading, and the text of a button
create-webhook = Create a webhook
webhook-url = Address (URL)
webhook-url-error = Enter an address that begins with https:// and can be reached from the internet.
# The label of a group of checkboxes
event-types = Events
event-types-hint = Without a choice, all events are sent.
too-many-webhooks = This app has 20 webhooks, which is the maximum. Remove one first.
enabled = Enabled
disabled = Disabled
disabled-failures = Disabled, because deliveries failed for five days
disabled-gone = Disabled, because the receiver wants no more events
# The texts of three buttons. The last two are also headings
send-test = Send a test
new-secret = New secret
send-again = Send events again
new-secret-hint = For 24 hours, the old secret also signs.
# The label of the day is the message "from-day"
send-again-hint = All events since the beginning of this day are sent again.
remove-webhook-hint = Nothing is sent to this address any more.
# A list of attempts to send events to a webhook
deliveries = Deliveries
# The result of an attempt to send an event. The other result is the message "failed"
delivered = Delivered
# $time: a date and a time
next-attempt = Next attempt { $time }

## Desk: payment links

# A heading and a link: a page that makes links with which customers pay
payment-links = Payment links
# The label of a field
link-text = Text for the customer
link-text-error = Use fewer characters, and only letters, digits and marks.
# The label of a checkbox
link-once = Can be paid only once
# The label of a list of languages, and its first entry
link-language = Language of the page
link-language-browser = As in the customer's browser
link-unsigned = This shop has no key for links, so the links are not signed: customers can change the amount.
# The text of a button
make-link = Make the link
payment-link = Payment link

## Desk: log

# A heading and a link: a list of what happened, and who did it
log = Log
# Who did something: the operator of the service, the company that carries out card payments, or nobody
operator = Operator
acquirer = Acquirer
automatically = Automatically
# What happened to a payment or to the shop
fraud-reported = Suspected fraud
acquirer-refused = Refused by the acquirer
merchant-released = No longer on hold
bank-changed = Bank account changed
# What happened to the user, app, API key or webhook that follows the message and a colon
invited-again = Invited again
invitation-accepted = Invitation accepted
member-removed = Member removed
app-added = App added
app-removed = App removed
key-removed = API key removed
webhook-created = Webhook created
webhook-changed = Webhook changed
webhook-removed = Webhook removed
