### Bulgarian

## Every page

payment-to-shop = Плащане към { $shop }
test-payment = Това е тест: няма да бъдат удържани пари.
contact = Въпроси за поръчката
terms = Общи условия
privacy = Политика за поверителност
accessibility = Достъпност

## Amount form

amount = Сума
amount-error =
    { $decimals ->
        [0] Въведете сумата с цифри, без десетични знаци.
        [one] Въведете сумата с цифри, с най-много { $decimals } десетичен знак.
       *[other] Въведете сумата с цифри, с най-много { $decimals } десетични знака.
    }
currency = Валута
currency-error = Въведете трибуквен код на валута, например EUR.
currency-unknown = Не е възможно плащане в тази валута. Въведете друг код, например EUR.
proceed = Напред

## Card form

card-details = Данни за картата
form-error = Моля, поправете отбелязаните полета.
card-number = Номер на картата
card-number-error = Въведете номера на картата, от 12 до 19 цифри.
card-number-typo = Проверете номера на картата: има грешна цифра.
accepted-cards = Приемани карти
expiry-date = Валидна до
expiry-date-malformed = Въведете месеца и годината, посочени на картата, например 08/29.
expiry-date-past = Картата е с изтекъл срок. Проверете датата или използвайте друга карта.
security-code = Код за сигурност
security-code-hint = 3 или 4 цифри на картата
security-code-error = Въведете 3-те или 4-те цифри на кода за сигурност.
security-code-back = Въведете 3-те цифри на гърба на картата.
security-code-front = Въведете 4-те цифри на лицето на картата.
needs-script = За да платите тук, включете JavaScript и презаредете страницата.
card-saved = Картата Ви ще бъде запазена за бъдещи плащания към този магазин.
receipt-email = Имейл за разписката (по избор)
pay = Плащане на { $amount }

## Payment in progress

processing = Плащането Ви се обработва
processing-hint = Тази страница се обновява автоматично. Моля, не плащайте отново.
check-again = Провери отново
confirm-payment = Потвърдете плащането
simulated-bank = Симулация на банка за тестове
confirm-card = Вашата банка пита: Вие ли правите това плащане с картата, завършваща на { $last4 }?
confirm = Потвърждавам
cancel = Отказ

## Result

payment-successful = Успешно плащане
payment-successful-hint = Можете да затворите тази страница.
transaction = Трансакция
shop = Търговец
date = Дата
card = Карта
reference = Референция
receipt = Разписка
payment-failed = Неуспешно плащане
declined-details = Банката не прие данните на картата. Проверете ги и опитайте отново.
declined-expired = Картата е с изтекъл срок. Опитайте с друга.
declined-funds = Няма достатъчна наличност по сметката или лимитът на картата е надвишен. Опитайте с друга карта.
declined-bank = Банката отказа плащането. Опитайте с друга карта или се свържете с банката си.
declined-again = Възникна грешка, но нищо не беше удържано. Моля, опитайте отново.
declined-unsupported = Тази карта не се приема. Опитайте с друга.
declined-unconfirmed = Плащането не беше потвърдено пред Вашата банка.
declined-shop = Магазинът не може да приеме това плащане. Моля, свържете се с него.
try-again = Нов опит
back-to-shop = Обратно към магазина

## Problems

link-broken = Тази връзка за плащане не работи
link-broken-hint = Поискайте нова от магазина.
link-used = Тази връзка вече е използвана
link-expired = Срокът на тази връзка за плащане е изтекъл
form-expired = Тази страница е твърде стара
form-expired-hint = Не сте таксувани и нищо от въведеното не е запазено.
unavailable = В момента плащането не е възможно
unavailable-hint = Опитайте отново след няколко минути. Сумата няма да бъде удържана два пъти.
too-many-attempts = Твърде много опити
too-many-attempts-hint = Изчакайте няколко минути и опитайте отново. Нищо не беше удържано.

## Invitation e-mail

invitation-subject = Покана за { $merchant }
invitation-greeting = Здравейте,
invitation-by-app = { $app } Ви кани да помагате в управлението на плащанията на { $merchant }.
invitation = Поканени сте да помагате в управлението на плащанията на { $merchant }.
invitation-more = Човекът, който Ви е поканил, може да Ви даде повече информация.
invitation-unexpected = Ако не сте очаквали това съобщение, можете да не му обръщате внимание.

## Mails of the desk

invitation-link = Отворете тази страница в рамките на 72 часа, за да приемете поканата и да влезете:
sign-in-subject = Вашата връзка за вход
sign-in-mail = Отворете тази страница в рамките на 15 минути в браузъра, от който поискахте връзката:
sign-in-unexpected = Ако не сте поискали тази връзка, можете да не обръщате внимание на това съобщение. Никой не може да влезе без връзката.
receipt-mail = Платихте { $amount } на { $merchant }. Тази връзка показва разписката и последващите възстановявания в продължение на 18 месеца:
dispute-subject = Оспорено плащане на { $merchant }
dispute-mail = Клиент оспорва { $amount } от плащане на { $merchant }. Можете да отговорите до { $day }.
payout-subject = Изплащане към { $merchant }
payout-mail = { $amount } са на път към банковата сметка на { $merchant }.
return-subject = Изплащане към { $merchant } беше върнато
return-mail = Банката върна { $amount }, изплатени на { $merchant }. Следващите изплащания изчакват, докато банковата сметка бъде вярна.
webhook-subject = Уебкука на { $merchant } е изключена
webhook-mail = Уебкука на приложение на { $merchant } е изключена, защото доставките ѝ са неуспешни. Приложението вече не научава за плащанията.
more-at-desk = Повече ще намерите на работното място, където избирате и кои съобщения да получавате:

## Desk: sign in

sign-in = Вход
email-address = Имейл адрес
email-address-hint = Ще Ви изпратим връзка за вход.
email-address-error = Въведете имейл адреса си, например ann@shop.example.
send-link = Изпрати връзката
check-mail = Проверете пощата си
check-mail-hint = Ако адресът { $email } е на потребител, изпратихме връзка. Отворете я в този браузър в рамките на 15 минути.
sign-in-as = Влизате като { $email }.
sign-in-broken = Тази връзка не работи
sign-in-broken-hint = Вече е използвана, твърде стара е или е за друг браузър.
new-link = Поискай нова връзка
wait-hint = Изчакайте няколко минути и опитайте отново.
desk-unavailable = В момента тази страница не е достъпна

## Desk: every page

merchants = Търговци
test-mark = Тест
sign-out = Изход
foreign-form = Този формуляр е изпратен от друг сайт
foreign-form-hint = Нищо не беше извършено. Върнете се назад и изпратете формуляра отново.
not-found = Тази страница не съществува
merchant-held = Спряно: { $reason }
not-approved = Този магазин не приема плащания, преди операторът да го одобри

## Desk: payments

payments = Плащания
search = Търси
more-filters = Още филтри
last-four = Последните четири цифри на картата
last-four-error = Въведете четири цифри.
from-day = От
to-day = До
day-error = Въведете дата, например 2026-11-28.
state = Състояние
all-states = Всички състояния
nothing-found = Няма намерени плащания.
download-csv = Изтегляне на CSV
older-payments = По-стари плащания
newest-payments = Най-нови плащания
all-merchants = Всички търговци
balance = Салдо
authorized = Авторизирано
captured = Инкасирано
partly-captured = Частично инкасирано
refunded = Възстановено
partly-refunded = Частично възстановено
voided = Анулирано
disputed = Оспорено
failed = Неуспешно
dispute-won = Спечелен спор
dispute-lost = Загубен спор
evidence-submitted = Доказателствата са подадени
dispute-accepted = Загубата е приета
history = История
fees = Такси

## Desk: capture, refund and release

capture = Усвояване
refund = Възстановяване
release = Освобождаване
at-most = Най-много { $amount }
available = Налично
left-afterwards = Остава след това
changed-meanwhile = Плащането междувременно се промени. Проверете сумата.
movement-refused = Това вече не е възможно или не е възможно с тази сума.

## Desk: mails

mails = Имейли
mails-hint = Кои имейли за този магазин искате?
mail-dispute = Клиент оспорва плащане
mail-payout = Салдото е изплатено
mail-return = Изплащане е върнато
mail-webhook = Уебкука е изключена
save = Запазване
saved = Запазено

## Desk: account

account = Профил
authenticator = Приложение за кодове
authenticator-works = Вашето приложение за кодове е настроено.
authenticator-missing = Преди да движите пари или да променяте ключове, е нужен код от приложение за кодове на вашия телефон или компютър.
set-up-authenticator = Настройване на приложение за кодове
remove-authenticator = Премахване на приложението за кодове
scan-code = Сканирайте този код с приложението.
qr-code = QR код
type-secret = Или въведете този ключ в приложението:
enter-code = Въведете кода си
code = Код
code-hint = Шест цифри от приложението за кодове или код за възстановяване.
first-code-hint = Шестте цифри, които показва приложението.
code-error = Този код не работи. Въведете следващия.
code-locked = Твърде много грешни кодове. Изчакайте 15 минути и опитайте отново.
recovery-codes = Кодове за възстановяване
recovery-codes-hint = Ако изгубите приложението, въведете един от тези кодове. Всеки работи само веднъж. Запазете ги сега на сигурно място: тази страница няма да ги покаже отново.
recovery-codes-left = Оставащи кодове за възстановяване: { $count }
new-recovery-codes = Създаване на нови кодове за възстановяване
sessions = Къде сте влезли
session-began = Вход: { $time }
session-used = Последно използване: { $time }
this-session = Този браузър
end-sessions = Изход от всички други браузъри

## Desk: balance and disputes

payouts = Изплащания
all-payouts = Всички изплащания
payout = Изплащане
payout-returned = Върнато изплащане
paid-out = Изплатено
month = Месец
next-page = Следваща страница
first-page = Първа страница
nothing-yet = Все още няма нищо
disputes = Спорове
open-disputes = Открити спорове
decided-disputes = Решени спорове
days-left = Оставащи дни: { $days }
inquiry = Запитване
evidence = Доказателства
evidence-text = Вашето обяснение
evidence-files = Файлове
evidence-hint = Най-много 5 файла PDF, PNG или JPEG, общо 4,5 MB, и 20 000 знака. Новите файлове заменят запазените.
submit-evidence = Подаване на доказателствата
submit-evidence-hint = Можете да подадете само веднъж. След това решава банката на клиента.
accept-dispute = Приемане на загубата
accept-dispute-hint = Клиентът задържа парите. Това не може да се отмени.

## Desk: overview

overview = Преглед
next-payout = Чака следващото изплащане
payouts-held = Изплащанията са спрени
refused-captures = Отказано от картовия оператор през последните 30 дни
disabled-webhooks = Изключени уебхукове
last-days = Събрано минус възстановено, последните 30 дни
days-in-utc = Дните са по UTC
as-table = Като таблица
day = Ден

## Desk: people

people = Хора
member-since = Член от { $time }
invited = Поканен
invited-until = Поканен: връзката работи до { $time }
invitation-expired = Поканата е изтекла
invite = Покана
invite-hint = Лицето получава по имейл връзка, която работи 72 часа, и след това може да прави всичко тук.
invite-again = Нова покана
remove = Да се премахне ли { $name }?
remove-hint = Достъпът до този магазин се прекратява веднага.
remove-yourself = Да премахнете ли себе си?
remove-button = Премахване
last-member = Последният член не може да бъде премахнат. Първо поканете някого.
apps = Приложения

## Desk: developers

developers = Разработчици
foreign-app = Това приложение работи и за магазини, в които не сте член, затова не можете да управлявате ключовете и webhook адресите му.
api-keys = API ключове
created-on = Създаден { $time }
last-used = Последно използван { $time }
never-used = Никога не е използван
key-name = Име на ключа
create-key = Създаване на ключ
key-created = Създаден е API ключ
too-many-keys = Това приложение има 20 ключа, което е максимумът. Първо премахнете един.
last-key = Последният ключ не може да бъде премахнат. Първо създайте друг.
remove-key-hint = Програмите, които използват този ключ, се отхвърлят веднага.
secret-once = Показва се само този път. Копирайте го на сигурно място.
secret-shown = Беше показан веднъж и не може да се покаже отново.
webhooks = Webhook адреси
create-webhook = Създаване на webhook
webhook-url = Адрес (URL)
webhook-url-error = Въведете адрес, който започва с https:// и е достъпен от интернет.
event-types = Събития
event-types-hint = Без избор се изпращат всички събития.
too-many-webhooks = Това приложение има 20 webhook адреса, което е максимумът. Първо премахнете един.
enabled = Включен
disabled = Изключен
disabled-failures = Изключен, защото доставките бяха неуспешни пет дни
disabled-gone = Изключен, защото получателят не иска повече събития
send-test = Изпращане на тест
new-secret = Нова тайна
send-again = Повторно изпращане на събития
new-secret-hint = 24 часа подписва и старата тайна.
send-again-hint = Всички събития от началото на този ден се изпращат отново.
remove-webhook-hint = На този адрес не се изпраща нищо повече.
deliveries = Доставки
delivered = Доставено
next-attempt = Следващ опит { $time }

## Desk: payment links

payment-links = Връзки за плащане
link-text = Текст за клиента
link-text-error = Използвайте по-малко знаци и само букви, цифри и препинателни знаци.
link-once = Може да се плати само веднъж
link-language = Език на страницата
link-language-browser = Както в браузъра на клиента
link-unsigned = Този магазин няма ключ за връзки, затова връзките не са подписани: клиентите могат да променят сумата.
make-link = Създаване на връзката
payment-link = Връзка за плащане

## Desk: log

log = Дневник
operator = Оператор
acquirer = Обслужваща банка
automatically = Автоматично
fraud-reported = Съмнение за измама
acquirer-refused = Отказано от обслужващата банка
merchant-released = Вече не е спряно
bank-changed = Банковата сметка е променена
invited-again = Поканен отново
invitation-accepted = Приета покана
member-removed = Премахнат член
app-added = Добавено приложение
app-removed = Премахнато приложение
key-removed = Премахнат API ключ
webhook-created = Създаден webhook
webhook-changed = Променен webhook
webhook-removed = Премахнат webhook
