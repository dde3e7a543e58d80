// The socket, and the lines of its changes.

import { $, element } from '/page.js';
import { eventOf, keyNodes } from './api.js';

const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 30_000;
const MAX_LINES = 200;
const SHOW_EVERY_MS = 100;
/** A screen reader gets one summary in this time, however many changes arrive. */
const ANNOUNCE_EVERY_MS = 5000;
const PREVIEW = 120;

let listener;
let socket;
let retry;
let delay = RETRY_MIN_MS;
/** All changes up to this revision were received. Undefined while the service sends current values. */
let position;
let unshown = [];
let showing;
let announcing;
const counts = { set: 0, delete: 0 };

/**
 * Connects, and again whenever the connection breaks. Calls `listener.take(event)` for each object, `listener.reload()` when
 * objects can have changed without a message, and `listener.isSignedIn()` before it reconnects.
 */
export function connect(to) {
  listener = to;
  show('connecting', 'Connecting …');
  const since = position === undefined ? '' : `&since=${position}`;
  const url = `${location.origin.replace(/^http/, 'ws')}/socket?events=true&initial=true&marks=true${since}`;
  const opened = socket = new WebSocket(url);
  opened.onopen = () => {
    delay = RETRY_MIN_MS;
    if (!since) return; // The service sends current values first, and then `synced`.
    show('live', 'Live');
    listener.reload();
  };
  opened.onmessage = ({ data }) => take(eventOf(data));
  opened.onclose = () => {
    if (socket === opened) reconnect();
  };
}

export function disconnect() {
  clearTimeout(retry);
  const last = socket;
  socket = undefined;
  last?.close();
  position = undefined;
  unshown = [];
  $('lines').replaceChildren();
}

function reconnect() {
  const wait = delay * (0.5 + Math.random() / 2);
  delay = Math.min(2 * delay, RETRY_MAX_MS);
  show('broken', `Broken. Next attempt in ${Math.ceil(wait / 1000)} s`);
  retry = setTimeout(async () => {
    const isSignedIn = await listener.isSignedIn().catch(() => undefined);
    if (isSignedIn) connect(listener);
    else if (isSignedIn === undefined) reconnect();
  }, wait);
}

function show(state, text) {
  $('connection').dataset.state = state;
  $('connection').textContent = text;
}

function take(event) {
  if (event.kind === 'reset') {
    // The changes since the position are lost. Current values follow.
    position = undefined;
  } else if (event.kind === 'mark') {
    position = event.revision;
  } else if (event.kind === 'synced') {
    position = event.revision;
    show('live', 'Live');
    listener.reload();
  } else {
    listener.take(event);
    // A new watch sends current values, too. They are older.
    if (event.revision > position) note(event);
  }
}

// The lines

function note(event) {
  position = event.revision;
  unshown.push({ ...event, time: new Date() });
  if (unshown.length > MAX_LINES) unshown.shift();
  counts[event.kind] += 1;
  showing ??= setTimeout(showLines, SHOW_EVERY_MS);
  announcing ??= setTimeout(announce, ANNOUNCE_EVERY_MS);
}

function showLines() {
  showing = undefined;
  $('lines').prepend(...unshown.reverse().map(lineOf));
  unshown = [];
  while ($('lines').children.length > MAX_LINES) $('lines').lastChild.remove();
}

function lineOf({ kind, revision, cause, key, value, time }) {
  const preview = value.length > PREVIEW ? `${value.slice(0, PREVIEW)} …` : value;
  return element('li', {},
    element('p', {}, element('span', { class: 'badge', 'data-kind': kind }, kind), ' ', ...keyNodes(key)),
    element('p', { class: 'value' }, kind === 'set' ? preview : ''),
    element('p', { class: 'hint' }, [cause, time.toLocaleTimeString(), `revision ${revision}`].filter(Boolean).join(' · ')));
}

function announce() {
  announcing = undefined;
  $('announcement').textContent = `Changes: ${counts.set} set, ${counts.delete} deleted.`;
  Object.assign(counts, { set: 0, delete: 0 });
}
