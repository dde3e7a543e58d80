### Portuguese

## Every page

payment-to-shop = Pagamento a { $shop }
test-payment = Isto é um teste: nada será cobrado.
contact = Questões sobre a sua encomenda
terms = Termos e condições
privacy = Política de privacidade
accessibility = Acessibilidade

## Amount form

amount = Montante
amount-error =
    { $decimals ->
        [0] Introduza o montante em algarismos, sem casas decimais.
        [one] Introduza o montante em algarismos, com um máximo de { $decimals } casa decimal.
       *[other] Introduza o montante em algarismos, com um máximo de { $decimals } casas decimais.
    }
currency = Moeda
currency-error = Introduza um código de moeda de três letras, por exemplo, EUR.
currency-unknown = Não é possível pagar nesta moeda. Introduza outro código, por exemplo EUR.
proceed = Continuar

## Card form

card-details = Dados do cartão
form-error = Corrija os campos assinalados.
card-number = Número do cartão
card-number-error = Introduza o número do cartão, de 12 a 19 dígitos.
card-number-typo = Verifique o número do cartão: há um algarismo errado.
accepted-cards = Cartões aceites
expiry-date = Data de validade
expiry-date-malformed = Introduza o mês e o ano indicados no cartão, por exemplo, 08/29.
expiry-date-past = O cartão caducou. Verifique a data ou utilize outro cartão.
security-code = Código de segurança
security-code-hint = 3 ou 4 dígitos no cartão
security-code-error = Introduza os 3 ou 4 dígitos do código de segurança.
security-code-back = Introduza os 3 algarismos do verso do cartão.
security-code-front = Introduza os 4 algarismos da frente do cartão.
needs-script = Para pagar aqui, ative o JavaScript e recarregue a página.
card-saved = O seu cartão será guardado para futuros pagamentos a esta loja.
receipt-email = E-mail para o seu recibo (opcional)
pay = Pagar { $amount }

## Payment in progress

processing = O seu pagamento está a ser processado
processing-hint = Esta página é atualizada automaticamente. Não pague outra vez.
check-again = Verificar novamente
confirm-payment = Confirme o pagamento
simulated-bank = Banco simulado, para testes
confirm-card = O seu banco pergunta: está a fazer este pagamento com o cartão terminado em { $last4 }?
confirm = Confirmar
cancel = Cancelar

## Result

payment-successful = Pagamento efetuado
payment-successful-hint = Pode fechar esta página.
transaction = Transação
shop = Comerciante
date = Data
card = Cartão
reference = Referência
receipt = Recibo
payment-failed = O pagamento falhou
declined-details = O banco não aceitou os dados do cartão. Verifique-os e tente novamente.
declined-expired = O cartão caducou. Tente outro.
declined-funds = Não há saldo suficiente na conta ou o limite do cartão foi excedido. Tente outro cartão.
declined-bank = O banco recusou o pagamento. Tente outro cartão ou contacte o seu banco.
declined-again = Ocorreu um erro, mas nada foi cobrado. Tente novamente.
declined-unsupported = Este cartão não é aceite. Tente outro.
declined-unconfirmed = O pagamento não foi confirmado junto do seu banco.
declined-shop = A loja não pode aceitar este pagamento. Contacte a loja.
try-again = Tentar novamente
back-to-shop = Voltar à loja

## Problems

link-broken = Este link de pagamento não funciona
link-broken-hint = Peça um novo à loja.
link-used = Esta ligação já foi utilizada
link-expired = Esta ligação de pagamento expirou
form-expired = Esta página é demasiado antiga
form-expired-hint = Não lhe foi cobrado nada e nada do que introduziu foi guardado.
unavailable = De momento não é possível pagar
unavailable-hint = Tente novamente dentro de alguns minutos. O montante não será cobrado duas vezes.
too-many-attempts = Demasiadas tentativas
too-many-attempts-hint = Aguarde alguns minutos e tente novamente. Nada foi cobrado.

## Invitation e-mail

invitation-subject = Convite: { $merchant }
invitation-greeting = Olá!
invitation-by-app = Recebeu um convite de { $app } para ajudar a gerir os pagamentos de { $merchant }.
invitation = Recebeu um convite para ajudar a gerir os pagamentos de { $merchant }.
invitation-more = A pessoa que enviou o convite pode dar-lhe mais informações.
invitation-unexpected = Se não esperava esta mensagem, pode ignorá-la.

## Mails of the desk

invitation-link = Abra esta página no prazo de 72 horas para aceitar o convite e iniciar sessão:
sign-in-subject = O seu link para iniciar sessão
sign-in-mail = Abra esta página no prazo de 15 minutos, no navegador em que pediu o link:
sign-in-unexpected = Se não pediu este link, pode ignorar esta mensagem. Ninguém pode iniciar sessão sem o link.
receipt-mail = Pagou { $amount } a { $merchant }. Este link mostra durante 18 meses o recibo e os reembolsos posteriores:
dispute-subject = Disputa sobre um pagamento a { $merchant }
dispute-mail = Um cliente contesta { $amount } de um pagamento a { $merchant }. Pode responder até { $day }.
payout-subject = Transferência para { $merchant }
payout-mail = { $amount } estão a caminho da conta bancária de { $merchant }.
return-subject = Uma transferência para { $merchant } foi devolvida
return-mail = O banco devolveu { $amount } transferidos para { $merchant }. As próximas transferências aguardam até a conta bancária estar correta.
webhook-subject = Um webhook de { $merchant } está desativado
webhook-mail = Um webhook de uma aplicação de { $merchant } está desativado, porque as suas entregas falharam. A aplicação deixou de saber dos pagamentos.
more-at-desk = Encontra mais no painel, onde também escolhe que mensagens recebe:

## Desk: sign in

sign-in = Iniciar sessão
email-address = Endereço de e-mail
email-address-hint = Enviamos-lhe um link para iniciar sessão.
email-address-error = Introduza o seu endereço de e-mail, por exemplo, ann@shop.example.
send-link = Enviar o link
check-mail = Verifique o seu e-mail
check-mail-hint = Se { $email } pertencer a um utilizador, enviámos um link. Abra-o neste navegador no prazo de 15 minutos.
sign-in-as = Está a iniciar sessão como { $email }.
sign-in-broken = Este link não funciona
sign-in-broken-hint = Já foi utilizado, é demasiado antigo ou pertence a outro navegador.
new-link = Pedir um novo link
wait-hint = Aguarde alguns minutos e tente novamente.
desk-unavailable = De momento esta página não está disponível

## Desk: every page

merchants = Comerciantes
test-mark = Teste
sign-out = Terminar sessão
foreign-form = Este formulário foi enviado por outro site
foreign-form-hint = Não foi efetuada nenhuma operação. Volte atrás e envie novamente o formulário.
not-found = Esta página não existe
merchant-held = Em suspenso: { $reason }
not-approved = Esta loja não aceita pagamentos antes da aprovação do operador

## Desk: payments

payments = Pagamentos
search = Pesquisar
more-filters = Mais filtros
last-four = Últimos quatro dígitos do cartão
last-four-error = Introduza quatro dígitos.
from-day = De
to-day = Até
day-error = Introduza uma data, por exemplo, 2026-11-28.
state = Estado
all-states = Todos os estados
nothing-found = Não foram encontrados pagamentos.
download-csv = Transferir CSV
older-payments = Pagamentos mais antigos
newest-payments = Pagamentos mais recentes
all-merchants = Todos os comerciantes
balance = Saldo
authorized = Autorizado
captured = Cobrado
partly-captured = Cobrado em parte
refunded = Reembolsado
partly-refunded = Reembolsado em parte
voided = Anulado
disputed = Em disputa
failed = Falhado
dispute-won = Disputa ganha
dispute-lost = Disputa perdida
evidence-submitted = Provas enviadas
dispute-accepted = Perda aceite
history = Histórico
fees = Comissões

## Desk: capture, refund and release

capture = Capturar
refund = Reembolsar
release = Libertar
at-most = No máximo { $amount }
available = Disponível
left-afterwards = Resta depois
changed-meanwhile = O pagamento mudou entretanto. Verifique o montante.
movement-refused = Isto já não é possível, ou não com este montante.

## Desk: mails

mails = E-mails
mails-hint = Que e-mails sobre esta loja deseja?
mail-dispute = Um cliente contesta um pagamento
mail-payout = O saldo é transferido
mail-return = Uma transferência foi devolvida
mail-webhook = Um webhook está desativado
save = Guardar
saved = Guardado

## Desk: account

account = Conta
authenticator = Aplicação de autenticação
authenticator-works = A sua aplicação de autenticação está configurada.
authenticator-missing = Antes de movimentar dinheiro ou alterar chaves, precisa de um código de uma aplicação de autenticação no seu telemóvel ou computador.
set-up-authenticator = Configurar uma aplicação de autenticação
remove-authenticator = Remover a aplicação de autenticação
scan-code = Leia este código com a aplicação.
qr-code = Código QR
type-secret = Ou introduza esta chave na aplicação:
enter-code = Introduza o seu código
code = Código
code-hint = Seis algarismos da sua aplicação de autenticação ou um código de recuperação.
first-code-hint = Os seis algarismos que a aplicação mostra.
code-error = Este código não funciona. Introduza o seguinte.
code-locked = Demasiados códigos errados. Aguarde 15 minutos e tente novamente.
recovery-codes = Códigos de recuperação
recovery-codes-hint = Se perder a aplicação, introduza um destes códigos. Cada um funciona uma única vez. Guarde-os agora num local seguro: esta página não os mostrará novamente.
recovery-codes-left = Códigos de recuperação restantes: { $count }
new-recovery-codes = Criar novos códigos de recuperação
sessions = Onde tem sessão iniciada
session-began = Início de sessão: { $time }
session-used = Última utilização: { $time }
this-session = Este navegador
end-sessions = Terminar sessão em todos os outros navegadores

## Desk: balance and disputes

payouts = Transferências
all-payouts = Todas as transferências
payout = Transferência
payout-returned = Transferência devolvida
paid-out = Transferido
month = Mês
next-page = Página seguinte
first-page = Primeira página
nothing-yet = Ainda nada
disputes = Disputas
open-disputes = Disputas abertas
decided-disputes = Disputas decididas
days-left = Dias restantes: { $days }
inquiry = Pedido de informação
evidence = Provas
evidence-text = A sua explicação
evidence-files = Ficheiros
evidence-hint = No máximo 5 ficheiros PDF, PNG ou JPEG, 4,5 MB no total, e 20 000 carateres. Os novos ficheiros substituem os guardados.
submit-evidence = Enviar provas
submit-evidence-hint = Só pode enviar uma vez. Depois decide o banco do cliente.
accept-dispute = Aceitar a perda
accept-dispute-hint = O cliente fica com o dinheiro. Não é possível anular.

## Desk: overview

overview = Visão geral
next-payout = À espera da próxima transferência
payouts-held = As transferências estão em suspenso
refused-captures = Recusado pelo adquirente, últimos 30 dias
disabled-webhooks = Webhooks desativados
last-days = Cobrado menos reembolsado, últimos 30 dias
days-in-utc = Os dias são em UTC
as-table = Como tabela
day = Dia

## Desk: people

people = Pessoas
member-since = Membro desde { $time }
invited = Convidado
invited-until = Convidado: o link funciona até { $time }
invitation-expired = O convite expirou
invite = Convidar
invite-hint = A pessoa recebe por e-mail um link que funciona durante 72 horas e depois pode fazer tudo aqui.
invite-again = Convidar novamente
remove = Remover { $name }?
remove-hint = O acesso a esta loja termina de imediato.
remove-yourself = Remover-se a si próprio?
remove-button = Remover
last-member = O último membro não pode ser removido. Convide alguém primeiro.
apps = Aplicações

## Desk: developers

developers = Programadores
foreign-app = Esta aplicação também trabalha para lojas de que não é membro, por isso não pode gerir as suas chaves e webhooks.
api-keys = Chaves de API
created-on = Criada em { $time }
last-used = Última utilização { $time }
never-used = Nunca utilizada
key-name = Nome da chave
create-key = Criar uma chave
key-created = Chave de API criada
too-many-keys = Esta aplicação tem 20 chaves, que é o máximo. Remova uma primeiro.
last-key = A última chave não pode ser removida. Crie outra primeiro.
remove-key-hint = Os programas que usam esta chave são recusados de imediato.
secret-once = Só é mostrado esta vez. Copie-o para um local seguro.
secret-shown = Foi mostrado uma vez e não pode ser mostrado novamente.
webhooks = Webhooks
create-webhook = Criar um webhook
webhook-url = Endereço (URL)
webhook-url-error = Introduza um endereço que comece por https:// e seja acessível a partir da internet.
event-types = Eventos
event-types-hint = Sem escolha, são enviados todos os eventos.
too-many-webhooks = Esta aplicação tem 20 webhooks, que é o máximo. Remova um primeiro.
enabled = Ativado
disabled = Desativado
disabled-failures = Desativado, porque as entregas falharam durante cinco dias
disabled-gone = Desativado, porque o destinatário não quer mais eventos
send-test = Enviar um teste
new-secret = Novo segredo
send-again = Reenviar eventos
new-secret-hint = Durante 24 horas, o segredo antigo também assina.
send-again-hint = Todos os eventos desde o início deste dia são reenviados.
remove-webhook-hint = Nada mais é enviado para este endereço.
deliveries = Entregas
delivered = Entregue
next-attempt = Próxima tentativa { $time }

## Desk: payment links

payment-links = Links de pagamento
link-text = Texto para o cliente
link-text-error = Use menos caracteres, e apenas letras, algarismos e sinais de pontuação.
link-once = Só pode ser pago uma vez
link-language = Idioma da página
link-language-browser = Como no navegador do cliente
link-unsigned = Esta loja não tem chave para links, por isso os links não são assinados: os clientes podem alterar o montante.
make-link = Criar o link
payment-link = Link de pagamento

## Desk: log

log = Registo
operator = Operador
acquirer = Adquirente
automatically = Automaticamente
fraud-reported = Suspeita de fraude
acquirer-refused = Recusado pelo adquirente
merchant-released = Já não está em suspenso
bank-changed = Conta bancária alterada
invited-again = Convidado novamente
invitation-accepted = Convite aceite
member-removed = Membro removido
app-added = Aplicação adicionada
app-removed = Aplicação removida
key-removed = Chave de API removida
webhook-created = Webhook criado
webhook-changed = Webhook alterado
webhook-removed = Webhook removido
