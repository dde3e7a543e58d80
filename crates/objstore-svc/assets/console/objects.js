// The list of objects: pages of `/find`, and the changes of the socket.

import { $, element } from '/page.js';
import { compare, idOf, keyNodes, keyText, matches, objectsOf, orderOf, PARTS } from './api.js';

const PAGE = 100;
/** The service sends no larger page. */
const MAX_ROWS = 1000;
/** Changed objects that wait to be shown. If there are more, the list is read again. */
const MAX_PENDING = 1000;
const SHOW_EVERY_MS = 100;
const MARK_MS = 4000;
const PREVIEW = 200;

let find;
let filter = { Type: '', Namespace: '', Name: '' };
let cursor;
let isWatched = () => false;
let loading = false;
let stale = false;
let showing;
const rows = new Map();
const pending = new Map();

/** Uses `send(path, body)` for requests to `/find`. */
export function start(send) {
  find = send;
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
    return;
  }
  stale = false;
  const wanted = filter;
  const found = await page(limit);
  if (wanted !== filter) return load(PAGE);
  const kept = new Map(rows);
  const focused = document.activeElement;
  rows.clear();
  for (const object of found) {
    const row = kept.get(idOf(object.key)) ?? rowOf(object);
    fill(row, object);
    if (row.state === 'deleted') mark(row, '');
    rows.set(idOf(object.key), row);
  }
  for (const [id, { timer }] of kept) if (!rows.has(id)) clearTimeout(timer);
  $('rows').replaceChildren(...[...rows.values()].map(({ node }) => node));
  if (focused.isConnected) focused.focus();
  count();
}

/** Adds the next page. Throws a `Failure`. */
export async function more() {
  for (const object of await page(PAGE, `&after=${encodeURIComponent(cursor)}`)) {
    if (rows.size < MAX_ROWS && !rows.has(idOf(object.key))) add(object);
  }
  count();
}

async function page(limit, after = '') {
  loading = true;
  try {
    const { text, headers } = await find(`/find?limit=${limit}${after}`, JSON.stringify({ Key: filter }));
    cursor = headers.get('next-cursor') ?? undefined;
    return objectsOf(text);
  } finally {
    loading = false;
    schedule();
  }
}

/** Shows a change soon. */
export function take(event) {
  if (!matches(filter, event.key)) return;
  pending.set(idOf(event.key), event);
  if (pending.size > MAX_PENDING) {
    pending.clear();
    stale = true;
  }
  schedule();
}

/** Shows which objects a client watches, by a function of the key. */
export function showWatched(watched) {
  isWatched = watched;
  for (const row of rows.values()) mark(row, row.state);
}

function schedule() {
  if (pending.size > 0 || stale) showing ??= setTimeout(showPending, SHOW_EVERY_MS);
}

async function showPending() {
  showing = undefined;
  if (loading) return; // The end of `page` calls `schedule`.
  const events = [...pending.values()];
  pending.clear();
  for (const event of events) apply(event);
  count();
  if (stale) {
    // The next change or connection tries again.
    await load().catch(() => stale = true);
  }
}

function apply({ kind, ...object }) {
  const row = rows.get(idOf(object.key));
  if (kind === 'delete') {
    if (row) mark(row, 'deleted');
  } else if (!row) {
    if (rows.size < MAX_ROWS && isInRange(object.key)) mark(add(object), 'new');
  } else if (row.value !== object.value || row.owner !== object.owner || row.state === 'deleted') {
    fill(row, object);
    mark(row, 'changed');
  }
}

/** Whether the object belongs to the pages that are shown. */
function isInRange(key) {
  const last = [...rows.values()].at(-1);
  return cursor === undefined || last === undefined || before(key, last.key);
}

function before(one, other) {
  for (const part of orderOf(filter)) {
    const order = compare(one[part], other[part]);
    if (order !== 0) return order < 0;
  }
  return false;
}

/** Adds a row at its place. The map keeps the order of the rows. */
function add(object) {
  const row = rowOf(object);
  const sorted = [...rows.values()];
  const at = sorted.findIndex(({ key }) => before(object.key, key));
  if (at === -1) {
    $('rows').append(row.node);
  } else {
    sorted[at].node.before(row.node);
    sorted.splice(at, 0, row);
    rows.clear();
    for (const each of sorted) rows.set(idOf(each.key), each);
  }
  rows.set(idOf(object.key), row);
  return row;
}

function rowOf(object) {
  const value = element('td', { role: 'cell', class: 'value' });
  const state = element('td', { role: 'cell' });
  const node = element('tr', { role: 'row' },
    element('th', { scope: 'row', role: 'rowheader' }, ...keyNodes(object.key)),
    value,
    state,
    element('td', { role: 'cell' }, element('button', {
      type: 'button', class: 'small', 'data-open': idOf(object.key), 'aria-label': `Open ${keyText(object.key)}`,
    }, 'Open')));
  const row = { key: object.key, node, cells: { value, state } };
  fill(row, object);
  mark(row, '');
  return row;
}

function fill(row, { value, owner }) {
  Object.assign(row, { value, owner });
  row.cells.value.textContent = value.length > PREVIEW ? `${value.slice(0, PREVIEW)} …` : value;
}

/** Shows the state of a row. All but `''` are shown for a moment. */
function mark(row, state) {
  clearTimeout(row.timer);
  if (state !== '') row.timer = setTimeout(() => (state === 'deleted' ? drop(row) : mark(row, '')), MARK_MS);
  row.state = state;
  row.node.dataset.state = state;
  const shown = state || (isWatched(row.key) ? 'watched' : '');
  row.cells.state.replaceChildren(shown && element('span', { class: 'badge', 'data-kind': shown }, shown));
}

function drop(row) {
  rows.delete(idOf(row.key));
  row.node.remove();
  count();
}

function count() {
  const isFull = rows.size >= MAX_ROWS;
  const shown = rows.size === 1 ? '1 object' : `${rows.size} objects`;
  let text = `${shown}.`;
  if (rows.size === 0) text = 'No object matches. Set one below.';
  else if (isFull) text = `${shown}, the most that the page shows. Filter to see others.`;
  else if (cursor !== undefined) text = `The first ${shown}. There are more.`;
  $('object-count').textContent = text;
  $('table').hidden = rows.size === 0;
  $('more').hidden = cursor === undefined || isFull;
}
