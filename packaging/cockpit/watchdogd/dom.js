// SPDX-License-Identifier: Apache-2.0
// Makes elements. Texts go in as text nodes and never as markup: apps choose most of them.

/** An element: properties whose names have a dash, "role" and "class" become attributes, "on…" listeners. */
export function element(name, properties = {}, ...children) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
        if (value === undefined || value === false) continue;
        if (key.startsWith('on')) node.addEventListener(key.slice(2), value);
        else if (key === 'class') node.className = value;
        else if (key === 'role' || key === 'for' || key === 'scope' || key.includes('-')) node.setAttribute(key, value);
        else node[key] = value;
    }
    node.append(...children);
    return node;
}

/** An element of a drawing; all properties are attributes. */
export function shape(name, attributes = {}, text = undefined) {
    const node = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
    if (text !== undefined) node.textContent = text;
    return node;
}

/** Changes an element's text only if it differs: what a screen reader has read is not read again. */
export function write(node, text) {
    if (node.textContent !== text) node.textContent = text;
}

export function button(label, onclick, kind = '') {
    return element('button', { type: 'button', class: `button ${kind}`, onclick }, label);
}

/** Opens a dialog that Escape, its buttons or `close` end, and gives the focus back then. */
export function openDialog(title, kind, content, actions = []) {
    const heading = element('h2', { id: 'dialog-title', tabIndex: -1 }, title);
    const dialog = element('dialog', { class: kind, 'aria-labelledby': 'dialog-title' });
    const close = button('Close', () => dialog.close());
    dialog.append(
        element('header', {}, heading, ...(actions.length === 0 ? [close] : [])), content,
        ...(actions.length === 0 ? [] : [element('footer', {}, ...actions)]));
    const before = document.activeElement;
    dialog.addEventListener('close', () => {
        dialog.remove();
        before?.focus();
    });
    document.body.append(dialog);
    dialog.showModal();
    return dialog;
}

/** Asks before something is done; resolves with the answer. */
export function confirm(question, explanation, action, kind) {
    return new Promise((resolve) => {
        let answer = false;
        const yes = button(action, () => {
            answer = true;
            dialog.close();
        }, kind);
        const no = button('Cancel', () => dialog.close());
        const dialog = openDialog(question, 'question', element('p', {}, explanation), [no, yes]);
        dialog.addEventListener('close', () => resolve(answer));
        no.focus();
    });
}
