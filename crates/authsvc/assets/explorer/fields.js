// The fields of a form. Each has a `node`, a `value` (undefined: not sent), and `fill`, which puts a value in.

import { element, prose } from '/page.js';

const REFUSED = 'the service will refuse this';

/** The field for a schema, whose `items` have to be resolved. */
export function fieldOf({ schema, description, ...options }) {
  const kind = kindOf(schema);
  let make = textField;
  if (kind === 'boolean') make = switchField;
  else if (kind === 'array' && schema.items?.enum) make = chipsField;
  else if (schema.enum) make = choiceField;
  return make({ ...options, kind, schema, hint: [description, rules(schema)] });
}

export function kindOf({ type }) {
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

export function textField({ id, name, kind = 'string', schema = {}, required, secret, hint }) {
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
    secret ? element('div', { class: 'row' }, input, showButton(input, name)) : input,
    element('div', { class: 'judgement' }, warning, count),
    hintOf(id, hint));
  const value = () => {
    if (input.value === '') return undefined;
    return kind === 'string' ? input.value : parsed(input.value);
  };
  const fill = (given = '') => {
    input.value = typeof given === 'string' ? given : JSON.stringify(given);
    judge();
  };
  return { node, value, fill };
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
  return {
    node,
    value: () => (input.checked === schema.default ? undefined : input.checked),
    on: () => input.checked,
    fill: (given) => input.checked = given ?? schema.default ?? false,
  };
}

function chipsField({ id, name, schema, required, hint }) {
  const { items } = schema;
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
    element('details', { open: true },
      element('summary', {}, tally),
      element('div', { class: 'chips' }, ...boxes.map((box) => element('label', { class: 'option' }, box, box.value))),
      element('div', { class: 'tally' }, all('All', true), all('None', false))));
  node.addEventListener('input', tell);
  const fill = (given) => {
    for (const box of boxes) box.checked = given?.includes(box.value) ?? false;
    tell();
  };
  return { node, value: () => (chosen().length ? chosen() : undefined), fill };
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
  const fill = (given = schema.default) => {
    for (const input of radios) input.checked = input.value === given;
    other.checked = given !== undefined && !schema.enum.includes(given);
    text.value = other.checked ? given : '';
  };
  return { node, value, fill };
}

function marks(kind, required) {
  return [' ', element('span', { class: 'type' }, kind), required && element('span', { class: 'required' }, 'required')];
}

function hintOf(id, told) {
  return element('p', { id: `${id}-hint`, class: 'hint' }, ...prose(told.filter(Boolean).join(' ')));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
