// The API explorer: builds its controls from /openapi.json, sends what they say and shows what comes back.
// Nothing is kept: no storage, no cookie, and what was typed goes when another operation is opened.

const DESCRIPTION = '/openapi.json';
const DESCRIPTION_TIMEOUT_MS = 15_000;
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const MASK = '••••••••';
const REFUSED = 'the service will refuse this';

// HTTP/2 has no reason phrases.
const REASONS = {
  200: 'OK', 400: 'Bad Request', 401: 'Unauthorized', 404: 'Not Found', 405: 'Method Not Allowed',
  422: 'Unprocessable Content', 500: 'Internal Server Error', 502: 'Bad Gateway',
};

let api;
let operations = [];
let current;
let running;

const $ = (id) => document.getElementById(id);

$('retry').addEventListener('click', load);
$('request').addEventListener('submit', (event) => {
  event.preventDefault();
  send();
});
$('request').addEventListener('input', showCommand);
$('cancel').addEventListener('click', () => running?.abort());
$('reveal').addEventListener('change', showCommand);
$('copy').addEventListener('click', copyCommand);
addEventListener('hashchange', () => {
  const named = operationNamed(location.hash);
  if (named && named !== current?.operation) {
    openOperation(named);
    $('operation').focus();
  }
});
load();

// The description

async function load() {
  const again = !$('failure').hidden;
  if (again) $('failure-reason').textContent = 'Trying again …';
  try {
    api = await description();
    operations = operationsOf(api);
    if (operations.length === 0) throw new Error(`${DESCRIPTION} lists no operations.`);
  } catch (error) {
    $('failure-reason').textContent = error.message;
    $('summary').textContent = '';
    $('failure').hidden = false;
    return;
  }
  $('failure').hidden = true;
  $('explorer').hidden = false;
  $('title').replaceChildren(api.info.title, ' ', element('small', {}, api.info.version));
  $('summary').textContent = api.info.summary ?? '';
  $('operations').replaceChildren(...operations.map(operationLink));
  openOperation(operationNamed(location.hash) ?? operations[0]);
  if (again) $('operation').focus();
}

async function description() {
  let response;
  try {
    response = await fetch(DESCRIPTION, { cache: 'no-store', signal: AbortSignal.timeout(DESCRIPTION_TIMEOUT_MS) });
  } catch {
    throw new Error(`${DESCRIPTION} could not be reached. Is the service running?`);
  }
  if (!response.ok) throw new Error(`${DESCRIPTION} answered ${phrase(response)}.`);
  try {
    return await response.json();
  } catch {
    throw new Error(`${DESCRIPTION} is not JSON.`);
  }
}

function operationsOf({ paths = {}, security = [], components = {} }) {
  const isBearer = (name) => {
    const scheme = resolve(components.securitySchemes?.[name]);
    return scheme?.type === 'http' && scheme.scheme.toLowerCase() === 'bearer';
  };
  return Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => {
      const operation = item[method];
      const alternatives = operation.security ?? security;
      const bearer = alternatives.flatMap(Object.keys).find(isBearer);
      return {
        id: operation.operationId ?? method + path.replace(/\W+/g, '-'),
        method: method.toUpperCase(),
        path,
        summary: operation.summary ?? `${method.toUpperCase()} ${path}`,
        description: operation.description ?? '',
        parameters: [...(item.parameters ?? []), ...(operation.parameters ?? [])].map(resolve),
        body: resolve(resolve(operation.requestBody)?.content?.['application/json']?.schema),
        responses: Object.entries(operation.responses ?? {}).map(([status, it]) => [status, resolve(it)]),
        token: bearer && {
          description: resolve(components.securitySchemes[bearer]).description,
          required: !alternatives.some((alternative) => Object.keys(alternative).length === 0),
        },
      };
    }));
}

/** Follows references; what stands beside one wins over what it leads to. */
function resolve(node) {
  while (node?.$ref) {
    const { $ref, ...beside } = node;
    const names = $ref.slice(2).split('/').map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'));
    node = { ...names.reduce((place, name) => place?.[name], api), ...beside };
  }
  return node;
}

function operationNamed(hash) {
  return operations.find(({ id }) => hash === `#${id}`);
}

function operationLink({ id, method, path }) {
  return element('li', {}, element('a', { id: `operation-${id}`, href: `#${id}` },
    element('span', { class: 'method', 'data-method': method }, method), ' ', element('span', { class: 'path' }, path)));
}

// The form

function openOperation(operation) {
  running?.abort();
  running = undefined;
  if ($('token')) $('token').value = '';
  current = { operation, fields: [], editor: undefined };

  for (const link of $('operations').querySelectorAll('a')) {
    if (link.id === `operation-${operation.id}`) link.setAttribute('aria-current', 'page');
    else link.removeAttribute('aria-current');
  }
  document.title = `${operation.method} ${operation.path} · ${api.info.title}`;
  $('operation').textContent = operation.summary;
  $('endpoint').replaceChildren(
    element('span', { class: 'method', 'data-method': operation.method }, operation.method), ' ', operation.path);
  $('description').replaceChildren(...paragraphs(operation.description));
  $('controls').replaceChildren(...controls(operation));

  const secrets = [...current.fields.filter(({ secret }) => secret).map(({ name }) => name), ...(operation.token ? ['token'] : [])];
  $('masking').hidden = secrets.length === 0;
  $('reveal').checked = false;
  $('masking-hint').textContent = `The ${secrets.join(' and ')} is masked here and in what Copy copies. A revealed one `
    + 'would stand in the history of your shell.';
  $('copied').textContent = '';
  showCommand();
  showAnswers(operation);
}

function controls({ id, parameters, body, token }) {
  const made = parameters.map((parameter) => control(id, parameter.in, parameter.name, resolve(parameter.schema), parameter));
  if (body) made.push(...bodyControls(id, body));
  if (token) made.push(tokenControl(token));
  if (made.length === 0) made.push(element('p', { class: 'hint' }, 'It takes no parameters.'));
  return made;
}

function bodyControls(id, schema) {
  const required = schema.required ?? [];
  const place = ([name, property]) =>
    (required.includes(name) ? required.indexOf(name) : required.length) + (kindOf(resolve(property)) === 'array' ? 1 : 0);
  // Members have no order in JSON: those that are required come first, and lists last.
  const members = Object.entries(schema.properties ?? {}).sort((one, other) => place(one) - place(other))
    .map(([name, property]) => control(id, 'body', name, resolve(property), { required: required.includes(name) }));

  const editor = element('textarea', {
    id: `${id}-body`, rows: 10, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', 'aria-describedby': `${id}-body-hint`,
  });
  editor.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) $('request').requestSubmit();
  });
  const form = element('div', { class: 'fields' }, ...members,
    element('p', { class: 'hint' }, 'What is empty or equals its default is not sent.'));
  const json = element('div', { class: 'field', hidden: true },
    element('label', { for: editor.id }, 'Body'),
    editor,
    element('p', { id: `${id}-body-hint`, class: 'hint' },
      `Sent as it stands, Ctrl+Enter sends it. ${MASK} stands for the password of the form; one typed here is visible.`));

  let stale = true;
  form.addEventListener('input', () => stale = true);
  current.editor = { used: () => !json.hidden, text: () => editor.value };
  const view = (name, label, chosen, show) => {
    const radio = element('input', { id: `${id}-body-${name}`, type: 'radio', name: `${id}-body-view`, checked: chosen });
    radio.addEventListener('change', show);
    return element('label', { class: 'option' }, radio, label);
  };
  return [
    element('fieldset', { class: 'views' }, element('legend', {}, 'Write the body as'),
      view('form', 'Form', true, () => { form.hidden = false; json.hidden = true; }),
      view('json', 'JSON', false, () => {
        if (stale) editor.value = concealed(JSON.stringify(membersOf(current.fields), null, 2));
        stale = false;
        form.hidden = true;
        json.hidden = false;
      })),
    form,
    json,
  ];
}

function tokenControl({ description, required }) {
  return textField({
    id: 'token', name: 'Bearer token', kind: 'string', secret: true, required,
    hint: [description, 'Goes with this request only, never stored, cleared when you open another operation.'],
  }).node;
}

/** Makes the control of a parameter or a member, remembers it, and returns its node. */
function control(operation, where, name, schema, { required = false, description = schema.description }) {
  const kind = kindOf(schema);
  const id = `${operation}-${name}`;
  const secret = schema.format === 'password';
  const options = { id, name, kind, schema, required, secret, hint: [description, rules(schema)] };
  let make = textField;
  if (kind === 'boolean') make = switchField;
  else if (kind === 'array' && resolve(schema.items)?.enum) make = chipsField;
  else if (schema.enum) make = choiceField;
  const field = make(options);
  current.fields.push({ where, name, secret, value: field.value });
  return field.node;
}

function kindOf({ type }) {
  return [type].flat().find((kind) => kind !== 'null') ?? 'string';
}

function rules({ minLength, maxLength, minItems, default: usual }) {
  const told = [
    minLength === 1 && 'not empty',
    minLength > 1 && `at least ${minLength} characters`,
    maxLength !== undefined && `at most ${maxLength} characters`,
    minItems > 1 && `at least ${minItems} of them`,
    usual !== undefined && usual !== null && `${JSON.stringify(usual)} by default`,
  ].filter(Boolean).join(', ');
  return told && `${told[0].toUpperCase()}${told.slice(1)}.`;
}

function textField({ id, name, kind, schema = {}, required, secret, hint }) {
  const input = element('input', {
    id, type: secret ? 'password' : 'text', autocomplete: 'off', autocapitalize: 'none', autocorrect: 'off', spellcheck: 'false',
    'aria-required': required && 'true', 'aria-describedby': `${id}-hint ${id}-warning`,
  });
  const warning = element('span', { id: `${id}-warning`, class: 'warning', role: 'status' });
  const count = element('span', { class: 'count', 'aria-hidden': 'true' });
  const judge = () => {
    const length = [...input.value].length;
    let wrong = '';
    if (length > schema.maxLength) wrong = `Too long: ${REFUSED}.`;
    else if (required && length === 0) wrong = `Missing: ${REFUSED}.`;
    else if (schema.pattern && length > 0 && !new RegExp(schema.pattern, 'u').test(input.value)) wrong = `Blank or malformed: ${REFUSED}.`;
    if (warning.textContent !== wrong) warning.textContent = wrong;
    if (schema.maxLength) count.textContent = `${length} / ${schema.maxLength}`;
    input.setAttribute('aria-invalid', String(wrong !== ''));
  };
  input.addEventListener('input', judge);
  if (schema.maxLength) count.textContent = `0 / ${schema.maxLength}`;

  const node = element('div', { class: 'field' },
    element('div', { class: 'heading' }, element('label', { for: id }, name), ...marks(kind, required)),
    secret ? element('div', { class: 'secret' }, input, showButton(input, name)) : input,
    element('div', { class: 'judgement' }, warning, count),
    hintOf(id, hint));
  const value = () => {
    if (input.value === '') return undefined;
    return kind === 'string' ? input.value : parsed(input.value);
  };
  return { node, value };
}

function showButton(input, name) {
  const button = element('button', { id: `${input.id}-show`, type: 'button', 'aria-pressed': 'false', 'aria-label': `Show ${name}` }, 'Show');
  button.addEventListener('click', () => {
    const shown = input.type === 'password';
    input.type = shown ? 'text' : 'password';
    button.setAttribute('aria-pressed', String(shown));
    button.textContent = shown ? 'Hide' : 'Show';
    button.setAttribute('aria-label', `${button.textContent} ${name}`);
  });
  return button;
}

function switchField({ id, name, kind, schema, required, hint }) {
  const input = element('input', { id, type: 'checkbox', role: 'switch', checked: schema.default === true, 'aria-describedby': `${id}-hint` });
  const node = element('div', { class: 'field' },
    element('div', { class: 'heading' }, element('label', { class: 'switch' }, input, name), ...marks(kind, required)),
    hintOf(id, hint));
  return { node, value: () => (input.checked === schema.default ? undefined : input.checked) };
}

function chipsField({ id, name, schema, required, hint }) {
  const items = resolve(schema.items);
  const boxes = items.enum.map((value) => element('input', { id: `${id}-${value}`, type: 'checkbox', value }));
  const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
  const tally = element('span', { class: 'count' });
  const tell = () => tally.textContent = chosen().length ? `${chosen().length} of ${boxes.length} chosen` : 'None chosen, not sent';
  tell();
  const all = (label, checked) => {
    const button = element('button', { id: `${id}-${label.toLowerCase()}`, type: 'button', 'aria-label': `${label} of ${name}` }, label);
    button.addEventListener('click', () => {
      for (const box of boxes) box.checked = checked;
      button.dispatchEvent(new Event('input', { bubbles: true }));
    });
    return button;
  };
  const node = element('fieldset', { id, class: 'field', 'aria-describedby': `${id}-hint` },
    element('legend', {}, name, ...marks(`list of ${kindOf(items)}`, required)),
    hintOf(id, hint),
    element('div', { class: 'chips' }, ...boxes.map((box) => element('label', { class: 'option' }, box, box.value))),
    element('div', { class: 'tally' }, all('All', true), all('None', false), tally));
  node.addEventListener('input', tell);
  return { node, value: () => (chosen().length ? chosen() : undefined) };
}

function choiceField({ id, name, kind, schema, required, hint }) {
  const radio = (value, checked) => element('input', { id: `${id}-${value || 'other'}`, type: 'radio', name: id, value, checked });
  const radios = schema.enum.map((value) => radio(value, value === schema.default));
  const other = radio('', false);
  const text = element('input', {
    id: `${id}-other-value`, type: 'text', 'aria-label': `Another value of ${name}`, autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false',
  });
  text.addEventListener('input', () => other.checked = true);
  const node = element('fieldset', { id, class: 'field', 'aria-describedby': `${id}-hint` },
    element('legend', {}, name, ...marks(kind, required)),
    hintOf(id, [...hint, 'The default is not sent.']),
    element('div', { class: 'chips' },
      ...radios.map((input) => element('label', { class: 'option' }, input, input.value)),
      element('div', { class: 'other' }, element('label', { class: 'option' }, other, 'another'), text)));
  const value = () => {
    if (other.checked) return text.value;
    return radios.find((input) => input.checked && input.value !== schema.default)?.value;
  };
  return { node, value };
}

function marks(kind, required) {
  return [' ', element('span', { class: 'type' }, kind), required && element('span', { class: 'required' }, 'required')];
}

function hintOf(id, told) {
  return element('p', { id: `${id}-hint`, class: 'hint' }, ...prose(told.filter(Boolean).join(' ')));
}

// The request

/** What is sent; with `masked`, what is shown of it. */
function compose(masked) {
  const { operation, fields, editor } = current;
  const query = new URLSearchParams();
  const headers = {};
  let { path } = operation;
  for (const { where, name, value } of fields) {
    const given = value();
    if (given === undefined) continue;
    if (where === 'query') query.append(name, given);
    if (where === 'header') headers[name] = given;
    if (where === 'path') path = path.replace(`{${name}}`, encodeURIComponent(given));
  }
  const token = $('token')?.value;
  if (token) headers.Authorization = `Bearer ${masked ? MASK : token}`;
  let body;
  if (operation.body) {
    headers['Content-Type'] = 'application/json';
    body = editor.used() ? revealed(editor.text()) : JSON.stringify(membersOf(fields));
    if (masked) body = concealed(body);
  }
  const search = String(query) && `?${query}`;
  return { method: operation.method, url: location.origin + path + search, headers, body };
}

function membersOf(fields) {
  return Object.fromEntries(fields.filter(({ where }) => where === 'body')
    .map(({ name, value }) => [name, value()]).filter(([, value]) => value !== undefined));
}

/** JSON text with the mask in place of its secrets. */
function concealed(text) {
  return replaceSecrets(text, (key) => `${key}"${MASK}"`);
}

/** JSON text with the secrets of the form in place of the mask. */
function revealed(text) {
  return replaceSecrets(text, (key, literal, { value }) =>
    key + (literal === `"${MASK}"` ? JSON.stringify(value() ?? MASK) : literal));
}

/** Works on text, since that need not be valid JSON. */
function replaceSecrets(text, replacement) {
  for (const field of current.fields.filter(({ secret }) => secret)) {
    const member = new RegExp(`("${field.name}"\\s*:\\s*)("(?:[^"\\\\]|\\\\.)+")`, 'g');
    text = text.replace(member, (_, key, literal) => replacement(key, literal, field));
  }
  return text;
}

async function send() {
  if (running) return;
  const { operation } = current;
  const attempt = running = new AbortController();
  const started = performance.now();
  const done = (show) => {
    if (running !== attempt) return;
    $('elapsed').textContent = duration(performance.now() - started);
    show();
  };
  for (const input of $('controls').querySelectorAll('[aria-required]')) input.dispatchEvent(new Event('input'));
  showSending();
  try {
    const { url, ...request } = compose(false);
    const headers = headersOf(request.headers);
    const response = await fetch(url, { ...request, headers, signal: attempt.signal, redirect: 'manual', cache: 'no-store' });
    if (response.type === 'opaqueredirect') {
      done(() => showRedirect(operation, url));
    } else {
      const text = await response.text().catch((error) => {
        if (attempt.signal.aborted) throw error;
      });
      done(() => showResponse(operation, response, text));
    }
  } catch (error) {
    done(() => showFailure(attempt.signal.aborted, error));
  } finally {
    if (running === attempt) {
      running = undefined;
      showIdle();
    }
  }
}

function headersOf(named) {
  try {
    return new Headers(named);
  } catch {
    throw new RangeError('A browser cannot send a header with these characters; the command can.');
  }
}

// The command

function showCommand() {
  const { method, url, headers, body } = compose(!$('reveal').checked);
  const parts = [`curl -i${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`--data-raw ${quoted(body)}`);
  $('curl').textContent = parts.join(' \\\n  ');
}

/** One word of a POSIX shell. */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

async function copyCommand() {
  const masked = $('curl').textContent.includes(MASK);
  let told = masked ? `Copied. Put what is secret in place of ${MASK}.` : 'Copied.';
  try {
    await navigator.clipboard.writeText($('curl').textContent);
  } catch {
    getSelection().selectAllChildren($('curl'));
    told = 'The browser does not let a page copy here; the command is selected instead.';
  }
  $('copied').textContent = told;
}

// The response

function showAnswers({ responses }) {
  show('idle', '');
  showIdle();
  $('elapsed').textContent = '';
  $('answers').hidden = false;
  $('answer').hidden = true;
  $('answers').replaceChildren(
    element('p', { class: 'hint' }, 'Nothing sent yet. It may answer:'),
    element('dl', {}, ...responses.map(([status, { description: meaning }]) =>
      element('div', { 'data-class': status[0] }, element('dt', {}, status), element('dd', {}, ...prose(meaning))))));
}

function showSending() {
  $('send').setAttribute('aria-disabled', 'true');
  $('cancel').disabled = false;
  $('elapsed').textContent = '';
  show('sending', 'Sending …');
}

function showIdle() {
  if (document.activeElement === $('cancel')) $('send').focus();
  $('send').removeAttribute('aria-disabled');
  $('cancel').disabled = true;
}

function showResponse({ responses }, response, text) {
  const documented = responses.find(([status]) => status === String(response.status));
  $('response').dataset.class = String(response.status)[0];
  $('response-headers').replaceChildren(...[...response.headers].map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, value))));
  showBody(text, response.headers.get('content-type') ?? '');
  $('answer').hidden = false;
  show('done', phrase(response), documented?.[1].description ?? 'Not an answer that the description lists for this operation.');
}

function showBody(text, type) {
  let kind = 'text';
  let content = [text];
  if (text === undefined) {
    kind = 'broken';
    content = ['The connection broke before the body was complete.'];
  } else if (text === '') {
    kind = 'empty';
    content = ['There is none.'];
  } else if (/^[^;]*[/+]json\b/i.test(type)) {
    try {
      content = highlighted(text);
      kind = 'JSON';
    } catch {
      kind = 'said to be JSON, but is not';
    }
  }
  $('body-heading').replaceChildren('Body ', element('small', {}, kind));
  $('response-body').dataset.kind = kind;
  $('response-body').replaceChildren(...content);
  $('response-body').scrollTop = 0;
}

function showRedirect({ method, path, responses }, url) {
  const documented = responses.find(([status]) => status.startsWith('3'));
  $('response').dataset.class = '3';
  $('answer').hidden = true;
  show('redirect', 'Redirect', 'A browser hides the status and the target of a redirect from a page.'
    + (documented ? ` The description says ${documented[0]}: ${documented[1].description}` : ''));
  if (method === 'GET') {
    $('follow').replaceChildren(element('a', { href: url, target: '_blank', rel: 'noopener noreferrer' }, `Follow ${path} in a new tab`));
    $('follow').hidden = false;
  }
}

function showFailure(cancelled, error) {
  delete $('response').dataset.class;
  $('answer').hidden = true;
  if (cancelled) show('cancelled', 'Cancelled', 'The service may have acted on the request all the same.');
  else if (error instanceof RangeError) show('failed', 'Not sent', error.message);
  else show('failed', 'No answer', 'The service could not be reached, or the connection broke.');
}

function show(state, status, meaning = '') {
  $('response').dataset.state = state;
  if (state === 'idle' || state === 'sending') delete $('response').dataset.class;
  $('response').setAttribute('aria-busy', String(state === 'sending'));
  $('status').textContent = status;
  $('meaning').replaceChildren(...prose(meaning));
  $('follow').hidden = true;
  if (state === 'idle' || state === 'sending') return;
  $('answers').hidden = true;
  const { top, bottom } = $('outcome').getBoundingClientRect();
  if (top < 0 || bottom > innerHeight) $('response').scrollIntoView();
}

function phrase({ status, statusText }) {
  return `${status} ${statusText || REASONS[status] || ''}`.trim();
}

function duration(milliseconds) {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(2)} s`;
}

// Text and nodes

/** JSON indented and coloured; numbers and escapes stay as they were written. Throws when it is no JSON. */
function highlighted(text) {
  JSON.parse(text);
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g);
  const nodes = [];
  let depth = 0;
  const newLine = () => `\n${'  '.repeat(depth)}`;
  tokens.forEach((token, index) => {
    const [previous, next] = [tokens[index - 1], tokens[index + 1]];
    if (token === '{' || token === '[') {
      depth += 1;
      nodes.push(next === '}' || next === ']' ? token : token + newLine());
    } else if (token === '}' || token === ']') {
      depth -= 1;
      nodes.push(previous === '{' || previous === '[' ? token : newLine() + token);
    } else if (token === ',') {
      nodes.push(token + newLine());
    } else if (token === ':') {
      nodes.push(': ');
    } else {
      let kind = 'number';
      if (token.startsWith('"')) kind = next === ':' ? 'key' : 'string';
      else if (/^[tfn]/.test(token)) kind = 'literal';
      nodes.push(element('span', { class: kind }, token));
    }
  });
  return nodes;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function paragraphs(text) {
  return text.split(/\n{2,}/).filter((part) => part.trim()).map((part) => element('p', {}, ...prose(part)));
}

/** Text with `code` in it. */
function prose(text) {
  return text.split('`').map((part, index) => (index % 2 ? element('code', {}, part) : part));
}

/** An element; attributes that are true stand without a value, those that are false, null or undefined are left out. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value != null) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== false && child != null));
  return made;
}
