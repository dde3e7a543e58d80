### Ukrainian

## Every page

payment-to-shop = Оплата на користь { $shop }
test-payment = Це тест: кошти не буде списано.
contact = Запитання щодо замовлення
terms = Умови надання послуг
privacy = Політика конфіденційності

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
expiry-date = Дійсна до
expiry-date-format = ММ / РР
expiry-date-malformed = Введіть місяць і рік, указані на картці, наприклад 08/29.
expiry-date-past = Термін дії картки минув. Перевірте дату або скористайтеся іншою карткою.
security-code = Код безпеки
security-code-hint = 3 або 4 цифри на картці
security-code-error = Введіть 3 або 4 цифри коду безпеки.
needs-script = Щоб заплатити тут, увімкніть JavaScript і перезавантажте сторінку.
card-saved = Вашу картку буде збережено для майбутніх платежів цьому магазину.
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
