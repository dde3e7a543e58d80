// Requests to the service, and the texts of its objects.

import { element, phrase } from '/page.js';

const TIMEOUT_MS = 15_000;

export const PARTS = ['Type', 'Namespace', 'Name'];

/** A request without success. `status` is 0 if there is no response, `operation` is the index of the refused one of a batch. */
export class Failure extends Error {
  constructor(message, status = 0, operation = undefined) {
    super(message);
    Object.assign(this, { status, operation });
  }
}

/** Sends a request. `body` is JSON text. Throws a `Failure`. */
export async function send({ method, url, headers, body }) {
  let response;
  let text;
  try {
    response = await fetch(url, { method, headers, body, cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
    text = await response.text();
  } catch {
    throw new Failure('The service did not answer. Try again.');
  }
  if (response.ok) return { text, headers: response.headers };
  const { message, operation } = problemOf(text);
  throw new Failure(`${phrase(response)}: ${message}`, response.status, operation);
}

function problemOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return { message: text };
  }
}

// Keys. As a pattern, a key matches anything where a part is empty.

export function matches(pattern, key) {
  return PARTS.every((part) => pattern[part] === '' || pattern[part] === key[part]);
}

/** Identifies a key in maps. */
export function idOf(key) {
  return JSON.stringify(PARTS.map((part) => key[part]));
}

/** A key as nodes. An empty part of a pattern is shown as "any". */
export function keyNodes(key) {
  return PARTS.flatMap((part, index) => [
    index > 0 && element('span', { class: 'slash' }, ' / '),
    key[part] === '' ? element('i', {}, 'any') : element('span', { class: 'part' }, key[part]),
  ]);
}

/** A key as a text for screen readers. */
export function keyText(key) {
  return PARTS.map((part) => key[part] || 'any').join(' / ');
}

/** The order in which `/find` returns the matches of a pattern. */
export function orderOf({ Type, Namespace, Name }) {
  if (Namespace && !Type) return ['Namespace', 'Name', 'Type'];
  if (Name && !Namespace) return ['Name', 'Type', 'Namespace'];
  return PARTS;
}

/** Compares texts by code points, which is the order of their UTF-8. `<` compares UTF-16. */
export function compare(one, other) {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  // The difference can be in the second half of a surrogate pair.
  if (at > 0 && /[\udc00-\udfff]/.test((one[at] ?? '') + (other[at] ?? ''))) at -= 1;
  return (one.codePointAt(at) ?? -1) - (other.codePointAt(at) ?? -1);
}

// Objects. Values stay text: `JSON.parse` would change large numbers.

/** The objects of an array, as `/find?metadata=true` returns it. */
export function objectsOf(array) {
  const objects = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of array.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/g)) {
    if (token === '{' || token === '[') {
      if (depth === 1) start = index;
      depth += 1;
    } else if (token === '}' || token === ']') {
      depth -= 1;
      if (depth === 1) objects.push(eventOf(array.slice(start, index + 1)));
    }
  }
  return objects;
}

/** An object of the service as `{ key, value, owner }`. */
export function objectOf(text) {
  const { Key: key, Owner: owner } = JSON.parse(text);
  return { key, owner, value: valueOf(text) };
}

/** The body of `/set`. */
export function textOf({ key, value, owner }) {
  return `{"Key":${JSON.stringify(key)},"Value":${value},"Owner":${JSON.stringify(owner)}}`;
}

/** A message of the socket, or an object with its metadata. */
export function eventOf(text) {
  const { Event: kind, Revision: revision, Cause: cause, Object: object } = JSON.parse(text);
  if (!object) return { kind, revision };
  return { kind, revision, cause, key: object.Key, owner: object.Owner, value: 'Value' in object ? valueOf(text) : '' };
}

/** The service writes `Key`, `Value` and `Owner` in this order, and escapes quotes in strings. */
function valueOf(text) {
  return text.slice(text.indexOf('},"Value":') + 10, text.lastIndexOf(',"Owner":'));
}
