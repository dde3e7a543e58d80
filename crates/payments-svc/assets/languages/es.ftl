### Spanish

## Every page

payment-to-shop = Pago a { $shop }
test-payment = Esto es una prueba: no se cobrará nada.
contact = Preguntas sobre su pedido
terms = Términos y condiciones
privacy = Política de privacidad
accessibility = Accesibilidad

## Amount form

amount = Importe
amount-error =
    { $decimals ->
        [0] Introduzca el importe en cifras, sin decimales.
        [one] Introduzca el importe en cifras, con un máximo de { $decimals } decimal.
       *[other] Introduzca el importe en cifras, con un máximo de { $decimals } decimales.
    }
currency = Moneda
currency-error = Introduzca un código de moneda de tres letras, por ejemplo, EUR.
currency-unknown = No se puede pagar en esta moneda. Introduzca otro código, por ejemplo EUR.
proceed = Continuar

## Card form

card-details = Datos de la tarjeta
form-error = Corrija los campos marcados.
card-number = Número de tarjeta
card-number-error = Introduzca el número de la tarjeta, de 12 a 19 dígitos.
card-number-typo = Compruebe el número de la tarjeta: hay una cifra incorrecta.
accepted-cards = Tarjetas aceptadas
expiry-date = Fecha de caducidad
expiry-date-malformed = Introduzca el mes y el año que figuran en la tarjeta, por ejemplo, 08/29.
expiry-date-past = La tarjeta ha caducado. Revise la fecha o utilice otra tarjeta.
security-code = Código de seguridad
security-code-hint = 3 o 4 dígitos en la tarjeta
security-code-error = Introduzca los 3 o 4 dígitos del código de seguridad.
security-code-back = Introduzca las 3 cifras del reverso de la tarjeta.
security-code-front = Introduzca las 4 cifras del anverso de la tarjeta.
needs-script = Para pagar aquí, active JavaScript y vuelva a cargar la página.
card-saved = Su tarjeta se guardará para futuros pagos a este comercio.
receipt-email = Correo electrónico para su recibo (opcional)
pay = Pagar { $amount }

## Payment in progress

processing = Su pago se está procesando
processing-hint = Esta página se actualiza automáticamente. No vuelva a pagar.
check-again = Comprobar de nuevo
confirm-payment = Confirme el pago
simulated-bank = Banco simulado, para pruebas
confirm-card = Su banco le pregunta: ¿está realizando este pago con la tarjeta terminada en { $last4 }?
confirm = Confirmar
cancel = Cancelar

## Result

payment-successful = Pago realizado
payment-successful-hint = Puede cerrar esta página.
transaction = Transacción
shop = Comercio
date = Fecha
card = Tarjeta
reference = Referencia
receipt = Recibo
payment-failed = No se ha podido realizar el pago
declined-details = El banco no ha aceptado los datos de la tarjeta. Revíselos e inténtelo de nuevo.
declined-expired = La tarjeta ha caducado. Pruebe con otra.
declined-funds = La cuenta no tiene fondos suficientes o se ha superado el límite de la tarjeta. Pruebe con otra tarjeta.
declined-bank = El banco ha rechazado el pago. Pruebe con otra tarjeta o consulte con su banco.
declined-again = Se ha producido un error, pero no se ha cobrado nada. Inténtelo de nuevo.
declined-unsupported = Esta tarjeta no se admite. Pruebe con otra.
declined-unconfirmed = El pago no se ha confirmado con su banco.
declined-shop = El comercio no puede aceptar este pago. Póngase en contacto con él.
try-again = Intentar de nuevo
back-to-shop = Volver al comercio

## Problems

link-broken = Este enlace de pago no funciona
link-broken-hint = Pida uno nuevo al comercio.
link-used = Este enlace ya se ha utilizado
link-expired = Este enlace de pago ha caducado
form-expired = Esta página es demasiado antigua
form-expired-hint = No se le ha cobrado nada y no se ha guardado nada de lo que introdujo.
unavailable = En este momento no es posible pagar
unavailable-hint = Inténtelo de nuevo en unos minutos. No se le cobrará dos veces.
too-many-attempts = Demasiados intentos
too-many-attempts-hint = Espere unos minutos e inténtelo de nuevo. No se ha cobrado nada.

## Invitation e-mail

invitation-subject = Invitación a { $merchant }
invitation-greeting = Hola:
invitation-by-app = { $app } le ha invitado a ayudar a gestionar los pagos de { $merchant }.
invitation = Ha recibido una invitación para ayudar a gestionar los pagos de { $merchant }.
invitation-more = La persona que le ha invitado puede darle más información.
invitation-unexpected = Si no esperaba este mensaje, puede ignorarlo.

## Mails of the desk

invitation-link = Abra esta página en un plazo de 72 horas para aceptar la invitación e iniciar sesión:
sign-in-subject = Su enlace para iniciar sesión
sign-in-mail = Abra esta página en un plazo de 15 minutos, en el navegador en el que solicitó el enlace:
sign-in-unexpected = Si no ha solicitado este enlace, puede ignorar este mensaje. Nadie puede iniciar sesión sin el enlace.
receipt-mail = Ha pagado { $amount } a { $merchant }. Este enlace muestra durante 18 meses el recibo y los reembolsos posteriores:
dispute-subject = Disputa sobre un pago de { $merchant }
dispute-mail = Un cliente disputa { $amount } de un pago de { $merchant }. Se puede responder hasta el { $day }.
payout-subject = Abono a { $merchant }
payout-mail = { $amount } están en camino a la cuenta bancaria de { $merchant }.
return-subject = Un abono a { $merchant } fue devuelto
return-mail = El banco devolvió { $amount } que se habían abonado a { $merchant }. Los siguientes abonos esperan hasta que la cuenta bancaria sea correcta.
webhook-subject = Un webhook de { $merchant } está desactivado
webhook-mail = Un webhook de una aplicación de { $merchant } está desactivado porque sus entregas fallaron. La aplicación ya no se entera de los pagos.
more-at-desk = Encontrará más en el panel, donde también elige qué mensajes recibe:

## Desk: sign in

sign-in = Iniciar sesión
email-address = Correo electrónico
email-address-hint = Le enviaremos un enlace para iniciar sesión.
email-address-error = Introduzca su correo electrónico, por ejemplo, ann@shop.example.
send-link = Enviar el enlace
check-mail = Revise su correo
check-mail-hint = Si { $email } pertenece a un usuario, hemos enviado un enlace. Ábralo en este navegador en un plazo de 15 minutos.
sign-in-as = Va a iniciar sesión como { $email }.
sign-in-broken = Este enlace no funciona
sign-in-broken-hint = Ya se ha utilizado, es demasiado antiguo o pertenece a otro navegador.
new-link = Solicitar un enlace nuevo
wait-hint = Espere unos minutos e inténtelo de nuevo.
desk-unavailable = En este momento esta página no está disponible

## Desk: every page

merchants = Comercios
test-mark = Prueba
sign-out = Cerrar sesión
foreign-form = Este formulario se ha enviado desde otro sitio web
foreign-form-hint = No se ha realizado ninguna operación. Vuelva atrás y envíe de nuevo el formulario.
not-found = Esta página no existe
merchant-held = En suspenso: { $reason }
not-approved = Esta tienda no acepta pagos hasta que el operador la apruebe

## Desk: payments

payments = Pagos
search = Buscar
more-filters = Más filtros
last-four = Últimos cuatro dígitos de la tarjeta
last-four-error = Introduzca cuatro dígitos.
from-day = Desde
to-day = Hasta
day-error = Introduzca una fecha, por ejemplo, 2026-11-28.
state = Estado
all-states = Todos los estados
nothing-found = No se han encontrado pagos.
download-csv = Descargar CSV
older-payments = Pagos anteriores
newest-payments = Pagos más recientes
all-merchants = Todos los comercios
balance = Saldo
authorized = Autorizado
captured = Cobrado
partly-captured = Cobrado en parte
refunded = Reembolsado
partly-refunded = Reembolsado en parte
voided = Anulado
disputed = En disputa
failed = Fallido
dispute-won = Disputa ganada
dispute-lost = Disputa perdida
evidence-submitted = Pruebas enviadas
dispute-accepted = Pérdida aceptada
history = Historial
fees = Comisiones

## Desk: capture, refund and release

capture = Capturar
refund = Reembolsar
release = Liberar
at-most = Como máximo { $amount }
available = Disponible
left-afterwards = Queda después
changed-meanwhile = El pago ha cambiado entretanto. Compruebe el importe.
movement-refused = Esto ya no es posible, o no con este importe.

## Desk: mails

mails = Correos
mails-hint = ¿Qué correos sobre esta tienda desea?
mail-dispute = Un cliente disputa un pago
mail-payout = El saldo se abona
mail-return = Un abono fue devuelto
mail-webhook = Un webhook está desactivado
save = Guardar
saved = Guardado

## Desk: account

account = Cuenta
authenticator = Aplicación de autenticación
authenticator-works = Su aplicación de autenticación está configurada.
authenticator-missing = Antes de mover dinero o cambiar claves, necesita un código de una aplicación de autenticación en su teléfono u ordenador.
set-up-authenticator = Configurar una aplicación de autenticación
remove-authenticator = Quitar la aplicación de autenticación
scan-code = Escanee este código con la aplicación.
qr-code = Código QR
type-secret = O introduzca esta clave en la aplicación:
enter-code = Introduzca su código
code = Código
code-hint = Seis cifras de su aplicación de autenticación o un código de recuperación.
first-code-hint = Las seis cifras que muestra la aplicación.
code-error = Este código no funciona. Introduzca el siguiente.
code-locked = Demasiados códigos incorrectos. Espere 15 minutos e inténtelo de nuevo.
recovery-codes = Códigos de recuperación
recovery-codes-hint = Si pierde la aplicación, introduzca uno de estos códigos. Cada uno sirve una sola vez. Guárdelos ahora en un lugar seguro: esta página no los mostrará de nuevo.
recovery-codes-left = Códigos de recuperación restantes: { $count }
new-recovery-codes = Crear nuevos códigos de recuperación
sessions = Dónde ha iniciado sesión
session-began = Inicio de sesión: { $time }
session-used = Último uso: { $time }
this-session = Este navegador
end-sessions = Cerrar sesión en todos los demás navegadores

## Desk: balance and disputes

payouts = Abonos
all-payouts = Todos los abonos
payout = Abono
payout-returned = Abono devuelto
paid-out = Abonado
month = Mes
next-page = Página siguiente
first-page = Primera página
nothing-yet = Nada todavía
disputes = Disputas
open-disputes = Disputas abiertas
decided-disputes = Disputas resueltas
days-left = Días restantes: { $days }
inquiry = Consulta
evidence = Pruebas
evidence-text = Su explicación
evidence-files = Archivos
evidence-hint = Como máximo 5 archivos PDF, PNG o JPEG, 4,5 MB en total, y 20 000 caracteres. Los archivos nuevos sustituyen a los guardados.
submit-evidence = Enviar pruebas
submit-evidence-hint = Solo puede enviar una vez. Después decide el banco del cliente.
accept-dispute = Aceptar la pérdida
accept-dispute-hint = El cliente se queda con el dinero. No se puede deshacer.

## Desk: overview

overview = Resumen
next-payout = Pendiente del próximo abono
payouts-held = Los abonos están en suspenso
refused-captures = Rechazado por el adquirente en los últimos 30 días
disabled-webhooks = Webhooks desactivados
last-days = Cobrado menos reembolsado, últimos 30 días
days-in-utc = Los días son en UTC
as-table = Como tabla
day = Día

## Desk: people

people = Personas
member-since = Miembro desde { $time }
invited = Invitado
invited-until = Invitado: el enlace funciona hasta { $time }
invitation-expired = La invitación ha caducado
invite = Invitar
invite-hint = La persona recibe por correo un enlace que funciona durante 72 horas y después puede hacer todo aquí.
invite-again = Invitar de nuevo
remove = ¿Quitar { $name }?
remove-hint = El acceso a esta tienda termina de inmediato.
remove-yourself = ¿Quitarse a sí mismo?
remove-button = Quitar
last-member = No se puede quitar al último miembro. Invite antes a alguien.
apps = Aplicaciones

## Desk: developers

developers = Desarrolladores
foreign-app = Esta aplicación también trabaja para tiendas de las que usted no es miembro, por lo que no puede gestionar sus claves y webhooks.
api-keys = Claves de API
created-on = Creada { $time }
last-used = Último uso { $time }
never-used = Nunca usada
key-name = Nombre de la clave
create-key = Crear una clave
key-created = Clave de API creada
too-many-keys = Esta aplicación tiene 20 claves, que es el máximo. Quite antes una.
last-key = No se puede quitar la última clave. Cree antes otra.
remove-key-hint = Los programas que usan esta clave se rechazan de inmediato.
secret-once = Solo se muestra esta vez. Cópielo en un lugar seguro.
secret-shown = Se mostró una vez y no se puede volver a mostrar.
webhooks = Webhooks
create-webhook = Crear un webhook
webhook-url = Dirección (URL)
webhook-url-error = Introduzca una dirección que empiece por https:// y sea accesible desde internet.
event-types = Eventos
event-types-hint = Si no elige ninguno, se envían todos los eventos.
too-many-webhooks = Esta aplicación tiene 20 webhooks, que es el máximo. Quite antes uno.
enabled = Activado
disabled = Desactivado
disabled-failures = Desactivado porque las entregas fallaron durante cinco días
disabled-gone = Desactivado porque el receptor no quiere más eventos
send-test = Enviar una prueba
new-secret = Nuevo secreto
send-again = Reenviar eventos
new-secret-hint = Durante 24 horas también firma el secreto antiguo.
send-again-hint = Se reenvían todos los eventos desde el comienzo de este día.
remove-webhook-hint = No se envía nada más a esta dirección.
deliveries = Entregas
delivered = Entregado
next-attempt = Próximo intento { $time }

## Desk: payment links

payment-links = Enlaces de pago
link-text = Texto para el cliente
link-text-error = Use menos caracteres, y solo letras, cifras y signos de puntuación.
link-once = Solo se puede pagar una vez
link-language = Idioma de la página
link-language-browser = Como en el navegador del cliente
link-unsigned = Esta tienda no tiene clave para enlaces, por lo que no van firmados: los clientes pueden cambiar el importe.
make-link = Crear el enlace
payment-link = Enlace de pago

## Desk: log

log = Registro
operator = Operador
acquirer = Adquirente
automatically = Automáticamente
fraud-reported = Sospecha de fraude
acquirer-refused = Rechazado por el adquirente
merchant-released = Ya no está en suspenso
bank-changed = Cuenta bancaria cambiada
invited-again = Invitado de nuevo
invitation-accepted = Invitación aceptada
member-removed = Miembro quitado
app-added = Aplicación añadida
app-removed = Aplicación quitada
key-removed = Clave de API quitada
webhook-created = Webhook creado
webhook-changed = Webhook cambiado
webhook-removed = Webhook quitado
