### Ukrainian

## Every page

payment-to-shop = Оплата на користь { $shop }
test-payment = Це тест: кошти не буде списано.
contact = Запитання щодо замовлення
terms = Умови надання послуг
privacy = Політика конфіденційності
accessibility = Доступність

## Amount form

amount = Сума
amount-error =
    { $decimals ->
        [0] Введіть суму цифрами, без десяткових знаків.
        [one] Введіть суму цифрами, щонайбільше з { $decimals } десятковим знаком.
       *[other] Введіть суму цифрами, щонайбільше з { $decimals } десятковими знаками.
    }
currency = Валюта
currency-error = Введіть трилітерний код валюти, наприклад EUR.
currency-unknown = Оплата в цій валюті неможлива. Введіть інший код, наприклад EUR.
proceed = Далі

## Card form

card-details = Дані картки
form-error = Виправте позначені поля.
card-number = Номер картки
card-number-error = Введіть номер картки, від 12 до 19 цифр.
card-number-typo = Перевірте номер картки: одна цифра неправильна.
accepted-cards = Приймаємо картки
expiry-date = Дійсна до
expiry-date-malformed = Введіть місяць і рік, указані на картці, наприклад 08/29.
expiry-date-past = Термін дії картки минув. Перевірте дату або скористайтеся іншою карткою.
security-code = Код безпеки
security-code-hint = 3 або 4 цифри на картці
security-code-error = Введіть 3 або 4 цифри коду безпеки.
security-code-back = Введіть 3 цифри на звороті картки.
security-code-front = Введіть 4 цифри на лицьовому боці картки.
needs-script = Щоб заплатити тут, увімкніть JavaScript і перезавантажте сторінку.
card-saved = Вашу картку буде збережено для майбутніх платежів цьому магазину.
receipt-email = Електронна пошта для квитанції (необов’язково)
pay = Сплатити { $amount }

## Payment in progress

processing = Ваш платіж обробляється
processing-hint = Ця сторінка оновлюється автоматично. Не платіть ще раз.
check-again = Перевірити ще раз
confirm-payment = Підтвердьте платіж
simulated-bank = Імітація банку для тестів
confirm-card = Ваш банк запитує: чи ви здійснюєте цей платіж карткою, номер якої закінчується на { $last4 }?
confirm = Підтвердити
cancel = Скасувати

## Result

payment-successful = Оплату здійснено
payment-successful-hint = Можете закрити цю сторінку.
transaction = Транзакція
shop = Продавець
date = Дата
card = Картка
reference = Призначення
receipt = Квитанція
payment-failed = Оплата не вдалася
declined-details = Банк не прийняв дані картки. Перевірте їх і спробуйте ще раз.
declined-expired = Термін дії картки минув. Спробуйте іншу.
declined-funds = На рахунку недостатньо коштів або перевищено ліміт картки. Спробуйте іншу картку.
declined-bank = Банк відхилив платіж. Спробуйте іншу картку або зверніться до свого банку.
declined-again = Сталася помилка, кошти не списано. Спробуйте ще раз.
declined-unsupported = Ця картка не приймається. Спробуйте іншу.
declined-unconfirmed = Платіж не було підтверджено у вашому банку.
declined-shop = Магазин не може прийняти цей платіж. Зверніться до магазину.
try-again = Спробувати ще раз
back-to-shop = Повернутися до магазину

## Problems

link-broken = Це платіжне посилання не працює
link-broken-hint = Попросіть у магазину нове.
link-used = Це посилання вже використано
link-expired = Термін дії цього посилання для оплати минув
form-expired = Ця сторінка застаріла
form-expired-hint = З вас нічого не списано, а введені дані не збережено.
unavailable = Оплата зараз недоступна
unavailable-hint = Спробуйте ще раз за кілька хвилин. Кошти не буде списано двічі.
too-many-attempts = Забагато спроб
too-many-attempts-hint = Зачекайте кілька хвилин і спробуйте ще раз. Кошти не списано.

## Invitation e-mail

invitation-subject = Запрошення: { $merchant }
invitation-greeting = Вітаємо!
invitation-by-app = Застосунок { $app } запрошує вас допомагати керувати платежами магазину { $merchant }.
invitation = Вас запрошено допомагати керувати платежами магазину { $merchant }.
invitation-more = Докладніше може розповісти людина, яка вас запросила.
invitation-unexpected = Якщо ви не очікували цього повідомлення, просто не зважайте на нього.

## Mails of the desk

invitation-link = Відкрийте цю сторінку протягом 72 годин, щоб прийняти запрошення та ввійти:
sign-in-subject = Ваше посилання для входу
sign-in-mail = Відкрийте цю сторінку протягом 15 хвилин у браузері, з якого ви надіслали запит на посилання:
sign-in-unexpected = Якщо ви не запитували це посилання, просто не зважайте на це повідомлення. Без посилання ніхто не зможе ввійти.
receipt-mail = Ви сплатили { $amount } на користь { $merchant }. Це посилання протягом 18 місяців показує квитанцію та подальші повернення коштів:
dispute-subject = Оскарження платежу { $merchant }
dispute-mail = Клієнт оскаржує { $amount } платежу { $merchant }. Відповісти можна до { $day }.
payout-subject = Виплата для { $merchant }
payout-mail = { $amount } прямують на банківський рахунок { $merchant }.
return-subject = Виплата для { $merchant } повернулася
return-mail = Банк повернув { $amount }, виплачені для { $merchant }. Подальші виплати чекають, доки банківський рахунок не буде правильним.
webhook-subject = Вебхук { $merchant } вимкнено
webhook-mail = Вебхук застосунку { $merchant } вимкнено, бо його доставки не вдалися. Застосунок більше не дізнається про платежі.
more-at-desk = Більше ви знайдете в кабінеті, де також обираєте, які повідомлення отримувати:

## Desk: sign in

sign-in = Увійти
email-address = Адреса електронної пошти
email-address-hint = Ми надішлемо вам посилання для входу.
email-address-error = Введіть свою адресу електронної пошти, наприклад ann@shop.example.
send-link = Надіслати посилання
check-mail = Перевірте пошту
check-mail-hint = Якщо адреса { $email } належить користувачу, ми надіслали посилання. Відкрийте його в цьому браузері протягом 15 хвилин.
sign-in-as = Ви входите як { $email }.
sign-in-broken = Це посилання не працює
sign-in-broken-hint = Його вже використано, воно застаріло або призначене для іншого браузера.
new-link = Отримати нове посилання
wait-hint = Зачекайте кілька хвилин і спробуйте ще раз.
desk-unavailable = Ця сторінка зараз недоступна

## Desk: every page

merchants = Магазини
test-mark = Тест
sign-out = Вийти
foreign-form = Цю форму надіслано з іншого сайту
foreign-form-hint = Нічого не виконано. Поверніться назад і надішліть форму ще раз.
not-found = Такої сторінки не існує
merchant-held = Призупинено: { $reason }
not-approved = Цей магазин не приймає платежів, доки його не схвалить оператор

## Desk: payments

payments = Платежі
search = Шукати
more-filters = Більше фільтрів
last-four = Останні чотири цифри картки
last-four-error = Введіть чотири цифри.
from-day = Від
to-day = До
day-error = Введіть дату, наприклад 2026-11-28.
state = Стан
all-states = Усі стани
nothing-found = Платежів не знайдено.
download-csv = Завантажити CSV
older-payments = Старіші платежі
newest-payments = Найновіші платежі
all-merchants = Усі магазини
balance = Баланс
authorized = Авторизовано
captured = Списано
partly-captured = Частково списано
refunded = Повернено
partly-refunded = Частково повернено
voided = Скасовано
disputed = Оскаржено
failed = Не вдалося
dispute-won = Спір виграно
dispute-lost = Спір програно
evidence-submitted = Докази подано
dispute-accepted = Збиток прийнято
history = Історія
fees = Комісії

## Desk: capture, refund and release

capture = Списати
refund = Повернути
release = Звільнити
at-most = Щонайбільше { $amount }
available = Доступно
left-afterwards = Залишиться
changed-meanwhile = Платіж тим часом змінився. Перевірте суму.
movement-refused = Це вже неможливо або неможливо з цією сумою.

## Desk: mails

mails = Електронні листи
mails-hint = Які електронні листи про цей магазин ви хочете отримувати?
mail-dispute = Клієнт оскаржує платіж
mail-payout = Залишок виплачується
mail-return = Виплата повернулася
mail-webhook = Вебхук вимкнено
save = Зберегти
saved = Збережено

## Desk: account

account = Обліковий запис
authenticator = Застосунок для кодів
authenticator-works = Ваш застосунок для кодів налаштовано.
authenticator-missing = Перш ніж переміщувати гроші або змінювати ключі, потрібен код із застосунку для кодів на вашому телефоні чи комп’ютері.
set-up-authenticator = Налаштувати застосунок для кодів
remove-authenticator = Вилучити застосунок для кодів
scan-code = Скануйте цей код застосунком.
qr-code = QR-код
type-secret = Або введіть у застосунку цей ключ:
enter-code = Введіть код
code = Код
code-hint = Шість цифр із застосунку для кодів або код відновлення.
first-code-hint = Шість цифр, які показує застосунок.
code-error = Цей код не працює. Введіть наступний.
code-locked = Забагато неправильних кодів. Зачекайте 15 хвилин і спробуйте ще раз.
recovery-codes = Коди відновлення
recovery-codes-hint = Якщо ви втратите застосунок, введіть один із цих кодів. Кожен працює один раз. Збережіть їх зараз у надійному місці: ця сторінка більше їх не покаже.
recovery-codes-left = Залишилося кодів відновлення: { $count }
new-recovery-codes = Створити нові коди відновлення
sessions = Де ви ввійшли
session-began = Вхід: { $time }
session-used = Останнє використання: { $time }
this-session = Цей браузер
end-sessions = Вийти в усіх інших браузерах

## Desk: balance and disputes

payouts = Виплати
all-payouts = Усі виплати
payout = Виплата
payout-returned = Виплату повернено
paid-out = Виплачено
month = Місяць
next-page = Наступна сторінка
first-page = Перша сторінка
nothing-yet = Поки нічого немає
disputes = Спори
open-disputes = Відкриті спори
decided-disputes = Вирішені спори
days-left = Залишилося днів: { $days }
inquiry = Запит
evidence = Докази
evidence-text = Ваше пояснення
evidence-files = Файли
evidence-hint = Щонайбільше 5 файлів PDF, PNG або JPEG, разом 4,5 МБ, і 20 000 символів. Нові файли замінюють збережені.
submit-evidence = Подати докази
submit-evidence-hint = Подати можна лише раз. Потім вирішує банк клієнта.
accept-dispute = Прийняти збиток
accept-dispute-hint = Гроші залишаться в клієнта. Скасувати це неможливо.

## Desk: overview

overview = Огляд
next-payout = Очікує наступної виплати
payouts-held = Виплати призупинено
refused-captures = Відхилено еквайром за останні 30 днів
disabled-webhooks = Вимкнені вебхуки
last-days = Списано мінус повернення, останні 30 днів
days-in-utc = Дні за UTC
as-table = Таблицею
day = День

## Desk: people

people = Люди
member-since = Учасник з { $time }
invited = Запрошено
invited-until = Запрошено: посилання діє до { $time }
invitation-expired = Термін дії запрошення закінчився
invite = Запросити
invite-hint = Людина отримає електронною поштою посилання, яке діє 72 години, і потім зможе робити тут усе.
invite-again = Запросити знову
remove = Вилучити { $name }?
remove-hint = Доступ до цього магазину припиняється одразу.
remove-yourself = Вилучити себе?
remove-button = Вилучити
last-member = Останнього учасника не можна вилучити. Спочатку когось запросіть.
apps = Застосунки

## Desk: developers

developers = Розробники
foreign-app = Цей застосунок працює і для магазинів, учасником яких ви не є, тому ви не можете керувати його ключами та вебхуками.
api-keys = Ключі API
created-on = Створено { $time }
last-used = Востаннє використано { $time }
never-used = Ще не використано
key-name = Назва ключа
create-key = Створити ключ
key-created = Створено ключ API
too-many-keys = Цей застосунок має 20 ключів, це максимум. Спочатку вилучіть один.
last-key = Останній ключ не можна вилучити. Спочатку створіть інший.
remove-key-hint = Програми з цим ключем одразу отримують відмову.
secret-once = Показано лише цього разу. Скопіюйте в надійне місце.
secret-shown = Це вже було показано, і показати знову неможливо.
webhooks = Вебхуки
create-webhook = Створити вебхук
webhook-url = Адреса (URL)
webhook-url-error = Введіть адресу, яка починається з https:// і доступна з інтернету.
event-types = Події
event-types-hint = Якщо нічого не вибрано, надсилаються всі події.
too-many-webhooks = Цей застосунок має 20 вебхуків, це максимум. Спочатку вилучіть один.
enabled = Увімкнено
disabled = Вимкнено
disabled-failures = Вимкнено, бо доставки не вдавалися п’ять днів
disabled-gone = Вимкнено, бо отримувач більше не хоче подій
send-test = Надіслати тест
new-secret = Новий секрет
send-again = Надіслати події знову
new-secret-hint = Протягом 24 годин підписує і старий секрет.
send-again-hint = Усі події від початку цього дня надсилаються знову.
remove-webhook-hint = На цю адресу більше нічого не надсилається.
deliveries = Доставки
delivered = Доставлено
next-attempt = Наступна спроба { $time }

## Desk: payment links

payment-links = Платіжні посилання
link-text = Текст для клієнта
link-text-error = Використайте менше символів і лише літери, цифри та розділові знаки.
link-once = Можна сплатити лише один раз
link-language = Мова сторінки
link-language-browser = Як у браузері клієнта
link-unsigned = Цей магазин не має ключа для посилань, тому посилання не підписані: клієнти можуть змінити суму.
make-link = Створити посилання
payment-link = Платіжне посилання

## Desk: log

log = Журнал
operator = Оператор
acquirer = Еквайр
automatically = Автоматично
fraud-reported = Підозра на шахрайство
acquirer-refused = Відхилено еквайром
merchant-released = Більше не призупинено
bank-changed = Банківський рахунок змінено
invited-again = Запрошено знову
invitation-accepted = Запрошення прийнято
member-removed = Учасника вилучено
app-added = Застосунок додано
app-removed = Застосунок вилучено
key-removed = Ключ API вилучено
webhook-created = Вебхук створено
webhook-changed = Вебхук змінено
webhook-removed = Вебхук вилучено
