// The API explorer: builds its controls from /openapi.json, sends what they say and shows what comes back.
// Nothing is kept: no storage, no cookie, and what was typed goes when another operation is opened.

import { fieldOf, kindOf, textField } from '/fields.js';
import { $, copy, element, highlighted, phrase, prose } from '/page.js';
import { snippets } from '/snippets.js';

const DESCRIPTION = '/openapi.json';
const DESCRIPTION_TIMEOUT_MS = 15_000;
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];
const MASK = '••••••••';
const BODY_START_PX = 160;

let api;
let operations = [];
let current;
let running;

$('retry').addEventListener('click', load);
$('request').addEventListener('submit', (event) => {
  event.preventDefault();
  send();
});
$('request').addEventListener('input', () => {
  showDependents();
  showCode();
});
$('languages').addEventListener('change', () => {
  $('copied').textContent = '';
  showCode();
});
$('cancel').addEventListener('click', () => running?.abort());
$('reveal').addEventListener('change', showCode);
$('copy').addEventListener('click', copyCode);
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
        body: bodyOf(resolve(operation.requestBody)),
        responses: Object.entries(operation.responses ?? {}).map(([status, it]) => [status, resolve(it)]),
        token: bearer && {
          description: resolve(components.securitySchemes[bearer]).description,
          required: !alternatives.some((alternative) => Object.keys(alternative).length === 0),
        },
      };
    }));
}

function bodyOf({ description, content } = {}) {
  const media = content?.['application/json'];
  return media && { description, schema: resolve(media.schema), examples: examplesOf(media) };
}

/** The examples of a body or a parameter, as pairs of a label and a value. */
function examplesOf({ example, examples = {} }) {
  const named = Object.entries(examples).map(([name, it]) => [resolve(it).summary ?? name, resolve(it).value]);
  return example === undefined ? named : [['Example', example], ...named];
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
  $('description').replaceChildren(...described(operation.description));
  $('controls').replaceChildren(...controls(operation));

  const secrets = [...current.fields.filter(({ secret }) => secret).map(({ name }) => name), ...(operation.token ? ['token'] : [])];
  $('masking').hidden = secrets.length === 0;
  $('reveal').checked = false;
  $('masking-hint').textContent = `The ${secrets.join(' and ')} is masked here and in what Copy copies. A revealed one `
    + 'can stay in the history of your shell or in a file.';
  $('copied').textContent = '';
  showDependents();
  showCode();
  showAnswers(operation);
}

function controls({ id, parameters, body, token }) {
  const made = parameters.map((parameter) => {
    const { node, fill } = control(id, parameter.in, parameter.name, resolve(parameter.schema), parameter);
    const examples = examplesOf(parameter);
    if (examples.length > 0) node.append(exampleButtons(`${id}-${parameter.name}`, examples, fill));
    return node;
  });
  if (body) made.push(...bodyControls(id, body));
  if (token) made.push(tokenControl(token));
  if (made.length === 0) made.push(element('p', { class: 'hint' }, 'It takes no parameters.'));
  return made;
}

function bodyControls(id, { description, schema, examples }) {
  const required = schema.required ?? [];
  const place = ([name, property]) =>
    (required.includes(name) ? required.indexOf(name) : required.length) + (kindOf(resolve(property)) === 'array' ? 1 : 0);
  // Members have no order in JSON: those that are required come first, and lists last.
  const members = Object.entries(schema.properties ?? {}).sort((one, other) => place(one) - place(other))
    .map(([name, property]) => [name, control(id, 'body', name, resolve(property), { required: required.includes(name) })]);

  const editor = element('textarea', {
    id: `${id}-body`, rows: 10, spellcheck: 'false', autocapitalize: 'off', autocomplete: 'off', 'aria-describedby': `${id}-body-hint`,
  });
  editor.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) $('request').requestSubmit();
  });
  const form = element('div', { class: 'fields' }, ...members.map(([, { node }]) => node),
    element('p', { class: 'hint' }, 'What is empty or equals its default is not sent.'));
  const json = element('div', { class: 'field', hidden: true },
    element('label', { for: editor.id }, 'Body'),
    editor,
    element('p', { id: `${id}-body-hint`, class: 'hint' },
      `Sent as it stands, Ctrl+Enter sends it. ${MASK} stands for the password of the form; one typed here is visible.`));

  let stale = true;
  const write = () => {
    if (stale) editor.value = concealed(JSON.stringify(membersOf(current.fields), null, 2));
    stale = false;
  };
  form.addEventListener('input', () => stale = true);
  current.editor = { used: () => !json.hidden, text: () => editor.value };
  const view = (name, label, chosen, show) => {
    const radio = element('input', { id: `${id}-body-${name}`, type: 'radio', name: `${id}-body-view`, checked: chosen });
    radio.addEventListener('change', show);
    return element('label', { class: 'option' }, radio, label);
  };
  const fill = (value) => {
    for (const [name, member] of members) member.fill(value[name]);
    stale = true;
    if (!json.hidden) write();
  };
  return [
    examples.length > 0 && exampleButtons(`${id}-body`, examples, fill, description),
    element('fieldset', { class: 'views' }, element('legend', {}, 'Write the body as'),
      view('form', 'Form', true, () => { form.hidden = false; json.hidden = true; }),
      view('json', 'JSON', false, () => {
        write();
        form.hidden = true;
        json.hidden = false;
      })),
    form,
    json,
  ].filter(Boolean);
}

/** Buttons that fill in the examples of the description. */
function exampleButtons(id, examples, fill, description) {
  const hint = element('p', { id: `${id}-examples-hint`, class: 'hint', role: 'status' }, ...prose(description ?? ''));
  const buttons = examples.map(([label, value], index) => {
    const button = element('button', { id: `${id}-example-${index + 1}`, class: 'small', type: 'button' }, label);
    button.addEventListener('click', () => {
      fill(value);
      button.dispatchEvent(new Event('input', { bubbles: true }));
      hint.textContent = `Filled in: ${label}. You can change it.`;
    });
    return button;
  });
  return element('fieldset', { class: 'examples', 'aria-describedby': hint.id },
    element('legend', {}, 'Examples'), element('div', { class: 'chips' }, ...buttons), hint);
}

function tokenControl({ description, required }) {
  return textField({
    id: 'token', name: 'Bearer token', secret: true, required,
    hint: [description, 'Goes with this request only, never stored, cleared when you open another operation.'],
  }).node;
}

/** Makes the control of a parameter or a member, remembers and returns it. */
function control(operation, where, name, schema, { required = false, description = schema.description }) {
  const secret = schema.format === 'password';
  const field = fieldOf({ id: `${operation}-${name}`, name, schema: { ...schema, items: resolve(schema.items) }, required, secret, description });
  const needs = schema['x-used-with'];
  if (needs) field.node.querySelector('.hint').append(element('span', { class: 'needs' }, ...prose(` Not sent while \`${needs}\` is off.`)));
  current.fields.push({ where, name, secret, needs, ...field });
  return field;
}

/** Disables and folds the fields that are used only with another one, while that is off. */
function showDependents() {
  for (const { node, needs } of current.fields.filter((field) => field.needs)) {
    const off = !isOn(needs);
    const changes = node.classList.contains('off') !== off;
    node.classList.toggle('off', off);
    for (const list of node.querySelectorAll('details')) list.open = changes ? !off : list.open;
    for (const part of [node, ...node.querySelectorAll('*')]) {
      if ('disabled' in part) part.disabled = off;
    }
  }
}

function isOn(name) {
  const { on, value } = current.fields.find((field) => field.name === name) ?? {};
  return on?.() ?? value?.() !== undefined;
}

// The request

/** What is sent; with `masked`, what is shown of it. */
function compose(masked) {
  const { operation, fields, editor } = current;
  const query = new URLSearchParams();
  const headers = {};
  let { path } = operation;
  for (const { where, name, ...field } of fields) {
    const given = sent(field);
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

/** The value of a field, unless another one that it needs is off. */
function sent({ needs, value }) {
  return needs && !isOn(needs) ? undefined : value();
}

function membersOf(fields) {
  return Object.fromEntries(fields.filter(({ where }) => where === 'body')
    .map(({ name, ...field }) => [name, sent(field)]).filter(([, value]) => value !== undefined));
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
    throw new RangeError('A browser cannot send a header with these characters; curl can.');
  }
}

// The code

function showCode() {
  const { value: language } = $('languages').querySelector(':checked');
  const redirects = current.operation.responses.some(([status]) => status.startsWith('3'));
  $('code').dataset.language = language;
  $('code').textContent = snippets[language]({ ...compose(!$('reveal').checked), redirects });
}

async function copyCode() {
  const masked = $('code').textContent.includes(MASK);
  $('copied').textContent = await copy($('code'), masked ? `Copied. Put what is secret in place of ${MASK}.` : 'Copied.');
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
  $('headers-heading').textContent = `Headers (${$('response-headers').childElementCount})`;
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
  const { top } = $('outcome').getBoundingClientRect();
  const { bottom } = ($('answer').hidden ? $('outcome') : $('body-heading')).getBoundingClientRect();
  if (top < 0 || bottom + BODY_START_PX > innerHeight) $('response').scrollIntoView();
}

function duration(milliseconds) {
  return milliseconds < 1000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1000).toFixed(2)} s`;
}

/** The first paragraph, and the others folded: readers who know them come to the form sooner. */
function described(text) {
  const [first, ...rules] = text.split(/\n{2,}/).filter((part) => part.trim()).map((part) => element('p', {}, ...prose(part)));
  return [first ?? '', rules.length > 0 ? element('details', {}, element('summary', {}, 'Rules'), ...rules) : ''];
}
