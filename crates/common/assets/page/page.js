// Functions that the pages share.

// HTTP/2 has no reason phrases.
const REASONS = {
  200: 'OK', 400: 'Bad Request', 401: 'Unauthorized', 404: 'Not Found', 405: 'Method Not Allowed',
  408: 'Request Timeout', 412: 'Precondition Failed', 413: 'Content Too Large', 422: 'Unprocessable Content',
  429: 'Too Many Requests', 500: 'Internal Server Error', 502: 'Bad Gateway', 503: 'Service Unavailable',
};

export const $ = (id) => document.getElementById(id);

// Requests

export function phrase({ status, statusText }) {
  return `${status} ${statusText || REASONS[status] || ''}`.trim();
}

/** The request as a command. `curl` is the command with its options. */
export function command(curl, { method, url, headers, body }) {
  const parts = [`${curl}${method === 'GET' ? '' : ` -X ${method}`} ${quoted(url)}`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) parts.push(`--data-raw ${quoted(body)}`);
  return parts.join(' \\\n  ');
}

/** One word of a POSIX shell. */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Copies the text of a node, or selects it if the browser forbids copying. Returns a line for the user. */
export async function copy(node, done) {
  try {
    await navigator.clipboard.writeText(node.textContent);
    return done;
  } catch {
    getSelection().selectAllChildren(node);
    return 'The browser does not let a page copy here; the text is selected instead.';
  }
}

// Text and nodes

/** JSON indented and coloured; numbers and escapes stay as they were written. Throws when it is no JSON. */
export function highlighted(text) {
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

/** Text with `code` in it. */
export function prose(text) {
  return text.split('`').map((part, index) => (index % 2 ? element('code', {}, part) : part));
}

/** An element; attributes that are true stand without a value, those that are false, null or undefined are left out. */
export function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false && value != null) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== false && child != null));
  return made;
}
