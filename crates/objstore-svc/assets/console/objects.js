// The list of objects: pages of `/find`, the changes of the socket, and which rows are selected.

import { $, element } from '/page.js';
import { compare, idOf, keyNodes, keyText, matches, objectsOf, orderOf } from './api.js';

const PAGE = 100;
/** The service sends no larger page. */
const MAX_PAGE = 1000;
const MAX_ROWS = 5000;
/** Changed objects that wait to be shown. If there are more, the list is read again. */
const MAX_PENDING = 1000;
const SHOW_EVERY_MS = 100;
const MARK_MS = 4000;
const PREVIEW = 200;
const STEPS = { ArrowUp: 'previousElementSibling', ArrowDown: 'nextElementSibling' };

let find;
let filter = { Type: '', Namespace: '', Name: '' };
let cursor;
/** The last key before the cursor. */
let end;
let isWatched = () => false;
let loading = false;
let stale = false;
let showing;
/** Whether rows may be at the wrong place. */
let unsorted = false;
/** The id of the object in the editor. */
let opened;
/** The node of the row that Tab leads to. */
let reached;
const rows = new Map();
const pending = new Map();
/** The rows whose state is shown for a moment. */
const marked = new Set();

/** Uses `send(path, body)` for requests to `/find`. */
export function start(send) {
  find = send;
  $('order').addEventListener('change', () => {
    unsorted = true;
    place();
  });
  $('all').addEventListener('change', () => {
    for (const { check } of rows.values()) check.checked = $('all').checked && !check.hidden;
    countSelected();
  });
  $('rows').addEventListener('change', countSelected);
  $('rows').addEventListener('focusin', ({ target }) => reach(target.closest('tr')));
  $('rows').addEventListener('keydown', step);
}

/** Shows the objects that match a pattern. */
export async function show(pattern) {
  filter = pattern;
  await load(PAGE);
}

/** Reads the shown objects again. Throws a `Failure`. */
export async function load(limit = Math.max(rows.size, PAGE)) {
  if (loading) {
    stale = true;
    schedule();
    return;
  }
  stale = false;
  const wanted = filter;
  const found = await pages(limit);
  if (wanted !== filter) return load(PAGE);
  const kept = new Set(found.map(({ key }) => idOf(key)));
  for (const [id, row] of rows) if (!kept.has(id)) drop(row);
  for (const object of found) {
    const row = rows.get(idOf(object.key)) ?? add(object);
    unsorted ||= row.revision !== object.revision;
    fill(row, object);
    if (row.state === 'deleted') mark(row, '');
  }
  place();
  count();
}

/** Adds as many objects as are shown. Throws a `Failure`. */
export async function more() {
  for (const object of await pages(Math.min(rows.size, MAX_ROWS - rows.size), cursor)) {
    if (!rows.has(idOf(object.key))) add(object);
  }
  place();
  count();
}

async function pages(limit, after) {
  const body = JSON.stringify({ Key: filter });
  const found = [];
  loading = true;
  try {
    do {
      const from = after ? `&after=${encodeURIComponent(after)}` : '';
      const { text, headers } = await find(`/find?metadata=true&limit=${Math.min(limit - found.length, MAX_PAGE)}${from}`, body);
      // Rows keep no long values.
      found.push(...objectsOf(text).map((object) => ({ ...object, value: previewOf(object) })));
      after = headers.get('next-cursor');
    } while (after && found.length < limit);
    cursor = after;
    end = found.at(-1)?.key;
    return found;
  } finally {
    loading = false;
  }
}

/** Shows a change soon. */
export function take(event) {
  const id = idOf(event.key);
  if (!matches(filter, event.key) || !(loading || pending.has(id) || isNews(event))) return;
  pending.set(id, event);
  if (pending.size > MAX_PENDING) {
    pending.clear();
    stale = true;
  }
  schedule();
}

/** Shows a change of this page, unless the socket brings it. */
export function takeOwn(event) {
  if (!isWatched(event.key)) take(event);
}

/** Shows which objects a client watches, by a function of the key. */
export function showWatched(watched) {
  isWatched = watched;
  for (const row of rows.values()) mark(row, row.state);
}

/** Shows which object is in the editor. */
export function showOpened(key) {
  rows.get(opened)?.node.removeAttribute('aria-current');
  opened = idOf(key);
  rows.get(opened)?.node.setAttribute('aria-current', true);
}

/** The keys of the selected objects, in the order of `/find`. */
export function selected() {
  return [...rows.values()].filter(({ check }) => check.checked).map(({ key }) => key).sort(byKey);
}

function schedule() {
  showing ??= setTimeout(showPending, SHOW_EVERY_MS);
}

async function showPending() {
  showing = undefined;
  if (loading) return schedule();
  const events = [...pending.values()];
  pending.clear();
  for (const event of events) apply(event);
  for (const row of marked) {
    if (row.end > performance.now()) break; // The others were marked later.
    if (row.state === 'deleted') drop(row);
    else mark(row, '');
  }
  place();
  count();
  if (stale) {
    // The next change or connection tries again.
    await load().catch(() => stale = true);
  }
}

function apply(event) {
  if (!isNews(event)) return;
  let row = rows.get(idOf(event.key));
  const state = event.kind === 'delete' ? 'deleted' : row ? 'changed' : 'new';
  row ??= add(event);
  if (state !== 'deleted') fill(row, event);
  row.revision = event.revision ?? row.revision;
  mark(row, state);
  unsorted ||= $('order').value === 'change';
}

/** Whether a change is newer than its row, or belongs to the pages that are shown. */
function isNews({ kind, key, revision }) {
  const row = rows.get(idOf(key));
  // The page does not learn the revision of its own deletions.
  if (row) return !(revision <= row.revision);
  return kind === 'set' && rows.size < MAX_ROWS && (!cursor || !end || byKey(key, end) < 0);
}

/** The order of `/find`. */
function byKey(one, other) {
  for (const part of orderOf(filter)) {
    const order = compare(one[part], other[part]);
    if (order !== 0) return order;
  }
  return 0;
}

/** Brings the rows into their order. Moves as few as possible. */
function place() {
  if (!unsorted) return;
  unsorted = false;
  const focused = document.activeElement;
  const order = $('order').value === 'key'
    ? (one, other) => byKey(one.key, other.key)
    : (one, other) => other.revision - one.revision;
  let at = $('rows').firstChild;
  for (const { node } of [...rows.values()].sort(order)) {
    if (node === at) at = at.nextSibling;
    else $('rows').insertBefore(node, at);
  }
  // A node that moves loses the focus.
  if (focused.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
}

/** Adds a row. `place` puts it at its place. */
function add(object) {
  const label = keyText(object.key);
  const check = element('input', { type: 'checkbox', tabindex: -1, 'aria-label': `Select ${label}` });
  const button = element('button', {
    type: 'button', tabindex: -1, 'data-open': idOf(object.key), 'aria-label': `Open ${label}`,
  }, ...keyNodes(object.key));
  const key = element('th', { scope: 'row', role: 'rowheader' }, button);
  const state = element('td', { role: 'cell' });
  const value = element('td', { role: 'cell', class: 'value' });
  const node = element('tr', { role: 'row', 'aria-current': idOf(object.key) === opened && 'true' },
    element('td', { role: 'cell' }, check), key, state, value);
  const row = { key: object.key, node, check, button, cells: { key, state, value } };
  rows.set(idOf(object.key), row);
  unsorted = true;
  fill(row, object);
  mark(row, '');
  return row;
}

function fill(row, object) {
  row.revision = object.revision;
  row.cells.value.textContent = previewOf(object);
}

function previewOf({ value }) {
  return value.length > PREVIEW ? `${value.slice(0, PREVIEW)} …` : value;
}

/** Shows the state of a row. All but `''` are shown for a moment. */
function mark(row, state) {
  marked.delete(row);
  if (state !== '') {
    row.end = performance.now() + MARK_MS;
    marked.add(row);
    setTimeout(schedule, MARK_MS);
  }
  if ((state === 'deleted') !== row.check.hidden) showControls(row, state !== 'deleted');
  row.state = state;
  row.node.dataset.state = state;
  const shown = state || (isWatched(row.key) ? 'watched' : '');
  row.cells.state.replaceChildren(shown && element('span', { class: 'badge', 'data-kind': shown }, shown));
}

/** A deleted object can be neither selected nor opened. */
function showControls(row, exist) {
  if (row.node.contains(document.activeElement)) $('list').focus();
  row.cells.key.replaceChildren(exist ? row.button : element('span', {}, ...keyNodes(row.key)));
  row.check.hidden = !exist;
  row.check.checked = false;
}

function drop(row) {
  marked.delete(row);
  rows.delete(idOf(row.key));
  row.node.remove();
}

// The keyboard. Tab leads to one row, and the arrow keys to the others.

function reach(node) {
  const next = node?.isConnected && isOpenable(node) ? node : [...$('rows').children].find(isOpenable);
  for (const control of reached?.querySelectorAll('input, button') ?? []) control.tabIndex = -1;
  for (const control of next?.querySelectorAll('input, button') ?? []) control.tabIndex = 0;
  reached = next;
}

function step(event) {
  let row = event.target.closest('tr');
  if (!STEPS[event.key]) return;
  event.preventDefault();
  do row = row[STEPS[event.key]]; while (row && !isOpenable(row));
  row?.querySelector(event.target.localName).focus();
}

function isOpenable(node) {
  return node.dataset.state !== 'deleted';
}

// The numbers

function countSelected() {
  const number = $('rows').querySelectorAll(':checked').length;
  $('all').checked = number > 0 && number === rows.size;
  $('all').indeterminate = number > 0 && number < rows.size;
  $('delete-selected').disabled = number === 0;
  $('delete-selected').textContent = number === 0 ? 'Delete' : `Delete ${number}`;
}

function count() {
  const isFull = rows.size >= MAX_ROWS;
  const shown = rows.size === 1 ? '1 object' : `${rows.size} objects`;
  let text = `${shown}.`;
  if (rows.size === 0) text = 'No object matches. Set one in the form.';
  else if (isFull) text = `${shown}, the most that the page shows. Filter to see others.`;
  else if (cursor) text = `The first ${shown}. There are more.`;
  $('object-count').textContent = text;
  $('shown').hidden = rows.size === 0;
  $('more').hidden = !cursor || isFull;
  countSelected();
  reach(reached);
}
