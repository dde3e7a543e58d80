// The console: the session, the watches and the editor. All texts of strangers become text nodes.

import { $, command, copy, element, highlighted } from '/page.js';
import { idOf, keyNodes, keyText, matches, objectOf, PARTS, send, textOf } from './api.js';
import * as changes from './changes.js';
import * as objects from './objects.js';

const STORED_ID = 'objstore-client';
const MAX_SHOWN_WATCHES = 100;
/** The service executes no larger batch. */
const MAX_OPERATIONS = 512;
const MAX_CONFIRMED_KEYS = 10;
const OUTDATED = { set: 'Another client changed this object after you opened it.', delete: 'This object was deleted after you opened it.' };
const NO_END = 'Give a time to live, or tie the object to this client.';
const NOTHING_TO_KEEP = 'A new object has no expiry or presence to keep. Choose again.';
const SAMPLE = { key: { Type: 'note', Namespace: 'demo', Name: 'hello' }, owner: 'console', value: '{"text":"Hello"}' };

let registration;
let watches = [];
/** The object in the editor: its key, and its entity tag if it is stored. */
let opened;
/** Owner and value, as they were shown or stored. */
let kept;

$('register').addEventListener('submit', attempt('register-error', register));
$('new-id').addEventListener('click', () => $('id').value = randomId());
$('logout').addEventListener('click', attempt('logout-error', logOut));
$('watch').addEventListener('submit', attempt('watch-error', () => watch(keyIn('watch'))));
$('watch-list').addEventListener('click', attempt('watch-error', async ({ target }) => {
  if (target.dataset.unwatch) await unwatch(watches[target.dataset.unwatch]);
}));
$('filter').addEventListener('submit', attempt('list-error', () => list(objects.show(keyIn('filter')))));
$('more').addEventListener('click', attempt('list-error', () => list(objects.more())));
$('delete-selected').addEventListener('click', attempt('list-error', removeSelected));
$('rows').addEventListener('click', (event) => {
  const button = event.target.closest('button');
  if (!button) return;
  if (!mayReplace()) return;
  const [Type, Namespace, Name] = JSON.parse(button.dataset.open);
  // The heading has a margin, so that the form below it becomes visible, too.
  $('editor-heading').scrollIntoView({ block: 'nearest' });
  $('editor-heading').focus({ preventScroll: true });
  attempt('edit-error', () => open({ Type, Namespace, Name }))(event);
});
$('edit').addEventListener('submit', attempt('edit-error', set));
$('end').addEventListener('change', showEnd);
$('load').addEventListener('click', attempt('edit-error', () => open(keyIn('edit'))));
$('overwrite').addEventListener('click', attempt('edit-error', overwrite));
$('delete').addEventListener('click', attempt('edit-error', remove));
$('clear').addEventListener('click', () => {
  if (!mayReplace()) return;
  edit({ ...SAMPLE, key: { ...SAMPLE.key, Name: '' } });
  $('edit-Name').focus();
});
$('copy').addEventListener('click', async () => $('copied').textContent = await copy($('curl'), 'Copied.'));
// All tabs share the cookie. So they also share the client.
addEventListener('storage', () => location.reload());
$('value').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) $('edit').requestSubmit();
});
objects.start((path, body) => request('POST', path, body));
$('sample').replaceChildren(...highlighted(textOf(SAMPLE)));
edit(SAMPLE);
resume();

/** A listener that shows a failure of an action in the element `place`. */
function attempt(place, action) {
  return async (event) => {
    event.preventDefault();
    $(place).textContent = '';
    if (place === 'edit-error') {
      $('conflict').hidden = true;
      $('edit-status').textContent = '';
      for (const id of ['value', 'end', 'ttl']) $(id).removeAttribute('aria-invalid');
    }
    try {
      await action(event);
    } catch (error) {
      $(place).textContent = error.message;
    }
  };
}

/** Sends a request. If the session has ended, the user can register again. */
async function request(method, url, body, headers = {}) {
  try {
    return await send({ method, url, headers: { ...(body && { 'Content-Type': 'application/json' }), ...headers }, body });
  } catch (error) {
    // 401 can also mean that the client is not the owner of an object.
    if (error.status === 401) await isSignedIn();
    throw error;
  }
}

/** Whether the session of the cookie is valid. Throws if the service does not answer. */
async function isSignedIn() {
  try {
    await send({ method: 'GET', url: '/watches', headers: {} });
    return true;
  } catch (error) {
    if (error.status !== 401) throw error;
    signOut();
    $('register-error').textContent = 'The session has ended. Register again.';
    return false;
  }
}

/** Sends a request of the user, and shows it as a command. */
async function act(method, path, body, headers = {}) {
  const shown = { method, url: location.origin + path, headers: { 'Content-Type': 'application/json', ...headers }, body };
  $('curl').textContent = `# Once, for the cookie:\n${registration}\n\n# The last request of this page:\n${command('curl -i -b cookies', shown)}`;
  $('copied').textContent = '';
  return request(method, path, body, headers);
}

// The session

async function resume() {
  const id = localStorage.getItem(STORED_ID);
  $('id').value = id ?? randomId();
  if (!id) return;
  try {
    await signIn(id);
  } catch (error) {
    $('register-error').textContent ||= error.message; // The end of a session has its own message.
  }
}

async function register() {
  const id = $('id').value.trim();
  const secret = $('secret').value;
  try {
    await request('POST', '/register', JSON.stringify({ ID: id }), secret && { Authorization: `Bearer ${secret}` });
  } catch (error) {
    // The operator can require a secret for an ID.
    if (error.status === 401) $('secret-field').hidden = false;
    throw error;
  }
  $('secret').value = '';
  localStorage.setItem(STORED_ID, id);
  await signIn(id);
  $('watching').firstElementChild.focus();
}

async function signIn(id) {
  await loadWatches();
  $('watching').open = watches.length === 0;
  const body = JSON.stringify({ ID: id });
  registration = command('curl -i -c cookies', {
    method: 'POST', url: `${location.origin}/register`, headers: { 'Content-Type': 'application/json' }, body,
  });
  $('curl').textContent = registration;
  $('registered-id').textContent = id;
  showSession(true);
  changes.connect({ take, reload, isSignedIn });
  await reload();
}

async function logOut() {
  await request('POST', '/logout');
  localStorage.removeItem(STORED_ID);
  signOut();
  $('id').focus();
}

function signOut() {
  changes.disconnect();
  showSession(false);
}

function showSession(exists) {
  for (const id of ['session', 'watches', 'changes', 'objects', 'work']) $(id).hidden = !exists;
  for (const id of ['register', 'tour']) $(id).hidden = exists;
  $('main').dataset.session = exists;
}

/** A random UUID. `crypto.randomUUID` exists only on HTTPS and on this machine. */
function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const digits = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

// The watches

async function watch(pattern) {
  const isFirst = watches.length === 0;
  await act('POST', '/watch', JSON.stringify({ Key: pattern }));
  $('watch').reset();
  await loadWatches();
  if (!isFirst) return;
  // The changes take the place of the form.
  $('watching').open = false;
  $('watching').firstElementChild.focus();
}

async function unwatch(pattern) {
  await act('POST', '/unwatch', JSON.stringify({ Key: pattern }));
  await loadWatches();
  $('watching').firstElementChild.focus();
}

async function loadWatches() {
  const { text } = await request('GET', '/watches');
  watches = JSON.parse(text).map(({ Key }) => Key);
  $('watch-list').replaceChildren(...watches.slice(0, MAX_SHOWN_WATCHES).map((pattern, index) =>
    element('li', {}, element('span', {}, ...keyNodes(pattern)), element('button', {
      type: 'button', class: 'small', 'data-unwatch': index, 'aria-label': `Unwatch ${keyText(pattern)}`,
    }, 'Unwatch'))));
  $('watches-heading').textContent = watches.length === 0 ? 'Watches' : `Watches (${watches.length})`;
  const more = watches.length - MAX_SHOWN_WATCHES;
  $('watch-count').textContent = watches.length === 0
    ? 'No watches yet: nothing is pushed. Press Watch to watch every object.'
    : more > 0 ? `And ${more} more.` : '';
  objects.showWatched((key) => watches.some((watched) => matches(watched, key)));
}

// The list and its changes

/** The number of objects changes often. So it is announced only when the user asks for a list. */
async function list(loaded) {
  await loaded;
  $('announcement').textContent = $('object-count').textContent;
}

function take(event) {
  objects.take(event);
  const isOpened = opened.tag && idOf(opened.key) === idOf(event.key);
  if (!isOpened || opened.isChanging || event.revision <= revisionOf(opened.tag)) return;
  if (event.kind === 'delete') kept = {};
  const text = OUTDATED[event.kind];
  if ($('edit-status').textContent !== text) $('edit-status').textContent = text;
}

/** The list shows its state by itself; a failure is shown beside it. */
async function reload() {
  await objects.load().catch((error) => $('list-error').textContent = error.message);
}

/** Deletes the selected objects, a batch at a time. A batch is deleted as a whole, or not at all. */
async function removeSelected() {
  const keys = objects.selected();
  if (!await confirmed(keys)) return;
  for (let done = 0; done < keys.length; done += MAX_OPERATIONS) {
    const batch = keys.slice(done, done + MAX_OPERATIONS);
    try {
      await act('POST', '/batch', JSON.stringify({ Operations: batch.map((Key) => ({ Delete: { Key } })) }));
    } catch (error) {
      await reload();
      const refused = batch[error.operation];
      const place = refused ? `, because of ${keyText(refused)}` : '';
      throw new Error(`${done} of ${keys.length} objects are deleted. The service stopped${place}. ${error.message}`);
    }
    for (const key of batch) objects.takeOwn({ kind: 'delete', key });
  }
  $('announcement').textContent = `${numbered(keys.length)} deleted.`;
}

/** Asks the user whether to delete objects. */
function confirmed(keys) {
  $('confirm-heading').textContent = `Delete ${numbered(keys.length)}?`;
  const more = keys.length - MAX_CONFIRMED_KEYS;
  $('confirm-keys').replaceChildren(...keys.slice(0, MAX_CONFIRMED_KEYS).map((key) => element('li', {}, ...keyNodes(key))),
    more > 0 ? element('li', {}, `and ${more} more`) : '');
  $('confirm').returnValue = '';
  $('confirm').showModal();
  return new Promise((resolve) => {
    $('confirm').addEventListener('close', () => resolve($('confirm').returnValue === 'delete'), { once: true });
  });
}

function numbered(number) {
  return number === 1 ? '1 object' : `${number} objects`;
}

/** The revision in an entity tag, `"<epoch>-<revision>"`. */
function revisionOf(tag) {
  return Number(/-(\d+)"$/.exec(tag)?.[1]);
}

// The editor

function keyIn(form) {
  return Object.fromEntries(PARTS.map((part) => [part, $(`${form}-${part}`).value]));
}

/** Shows an object. It is stored if there are headers of `/get`. */
function edit({ key, owner, value }, headers) {
  for (const part of PARTS) $(`edit-${part}`).value = key[part];
  $('owner').value = owner;
  $('value').value = highlighted(value).map((node) => node.textContent ?? node).join('');
  for (const id of ['edit-error', 'edit-status']) $(id).textContent = '';
  $('conflict').hidden = true;
  keep();
  hold(key, headers);
}

function keep() {
  kept = { owner: $('owner').value, value: $('value').value };
}

/** Whether the form may show something else: nothing is lost, or the user wants it. */
function mayReplace() {
  const isChanged = $('owner').value !== kept.owner || $('value').value !== kept.value;
  return !isChanged || window.confirm('The form has changes that are not stored. Discard them?');
}

/** Remembers what the service has stored, and shows what ends it: headers of `/get`. */
function hold(key, headers) {
  opened = { key, tag: headers?.get('etag') };
  const expires = headers?.get('object-expires');
  const ends = [
    expires && `It expires at ${new Date(expires).toLocaleString()}.`,
    headers?.get('object-presence') && 'It is deleted when its client has left.',
  ].filter(Boolean);
  $('ends').textContent = ends.join(' ');
  $('keep').hidden = $('keep').disabled = ends.length === 0;
  $('end').value = ends.length === 0 ? 'never' : 'keep';
  $('ttl').value = '';
  $('presence').checked = false;
  showEnd();
  objects.showOpened(key);
}

function showEnd() {
  $('change').hidden = $('end').value !== 'change';
}

async function open(key) {
  const { text, headers } = await act('POST', '/get', JSON.stringify({ Key: key }));
  edit(objectOf(text), headers);
  $('edit-status').textContent = `Opened, revision ${revisionOf(opened.tag)}.`;
}

/** The condition of a write: the object is as it was opened, or does not exist. */
function condition() {
  return isOpened() ? { 'If-Match': opened.tag } : { 'If-None-Match': '*' };
}

/** Whether the form has the key of the stored object. */
function isOpened() {
  return opened.tag && idOf(opened.key) === idOf(keyIn('edit'));
}

async function set() {
  const key = keyIn('edit');
  const owner = $('owner').value;
  const value = $('value').value;
  try {
    JSON.parse(value);
  } catch (error) {
    refuse('value', `The value is not JSON. ${error.message}`);
  }
  const edited = opened;
  const { headers } = await write(`/set${lifespan()}`, textOf({ key, value, owner }), condition());
  const tag = headers.get('etag');
  objects.takeOwn({ kind: 'set', key, owner, value, revision: revisionOf(tag) });
  if (opened !== edited) return;
  opened = { key, tag };
  kept = { owner, value };
  objects.showOpened(key);
  $('edit-status').textContent = `Stored, revision ${revisionOf(tag)}.`;
  // Only `/get` says what ends the object. It can have ended already.
  const stored = await request('POST', '/get', JSON.stringify({ Key: key })).catch(() => undefined);
  if (stored?.headers.get('etag') === opened.tag) hold(key, stored.headers);
}

/** The query of `/set`. An object that is new, or has gone, has nothing to keep. */
function lifespan() {
  if ($('end').value === 'never') return '';
  if ($('end').value === 'keep') return isOpened() ? '?ttl=keep' : refuse('end', NOTHING_TO_KEEP);
  const ttl = $('ttl').value.trim();
  const isPresent = $('presence').checked;
  if (!ttl && !isPresent) refuse('ttl', NO_END);
  return `?${new URLSearchParams({ ...(ttl && { ttl }), ...(isPresent && { presence: true }) })}`;
}

/** Fails because of a field. */
function refuse(field, message) {
  $(field).setAttribute('aria-invalid', 'true');
  $(field).focus();
  throw new Error(message);
}

/** Sets the object, whatever is stored now. */
async function overwrite() {
  const key = keyIn('edit');
  const current = await request('POST', '/get', JSON.stringify({ Key: key })).catch((error) => {
    if (error.status !== 422) throw error;
  });
  opened = { key, tag: current?.headers.get('etag') };
  await set();
}

async function remove() {
  const key = keyIn('edit');
  await write('/delete', JSON.stringify({ Key: key }), isOpened() ? condition() : {});
  objects.takeOwn({ kind: 'delete', key });
  // The form has the only copy.
  kept = {};
  hold(key);
  $('edit-status').textContent = 'Deleted. The form still shows it: Set stores it again.';
}

async function write(path, body, headers) {
  const written = opened;
  // A push can arrive before the response.
  written.isChanging = true;
  try {
    return await act('POST', path, body, headers);
  } catch (error) {
    if (error.status !== 412) throw error;
    $('conflict').hidden = false;
    $('overwrite').hidden = path === '/delete';
    throw new Error(headers['If-Match']
      ? 'Refused: another client changed or deleted this object after you opened it (412).'
      : 'Refused: there is an object with this key already (412).');
  } finally {
    written.isChanging = false;
  }
}
