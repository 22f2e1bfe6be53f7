"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const flame = document.getElementById("flame");
  const detail = document.getElementById("detail");
  const trail = document.getElementById("trail");
  const ROW = 21;
  const LEAST = 1.5;
  const MUCH = 0.02;
  let top = -1;
  let chosen = -1;
  let shown = -1;

  const children = data.cells.map(() => []);
  const roots = [];
  data.cells.forEach((cell, number) => (cell.parent < 0 ? roots : children[cell.parent]).push(number));
  const wider = (one, other) => data.cells[other].us - data.cells[one].us;
  roots.sort(wider);
  children.forEach((list) => list.sort(wider));
  const whole = Math.max(data.total, roots.reduce((sum, number) => sum + data.cells[number].us, 0));

  const percent = (us) => {
    const share = (100 * us) / data.total;
    return share >= 9.95 ? share.toFixed(0) + "%" : share >= 0.05 ? share.toFixed(1) + "%" : "<0.1%";
  };
  const time = (us) =>
    us >= 1e6 ? (us / 1e6).toFixed(1) + " s" : us >= 1e3 ? (us / 1e3).toFixed(us < 1e4 ? 1 : 0) + " ms" : us.toFixed(0) + " us";
  const count = (value) => value.toLocaleString("en");
  const nameOf = (cell) => (cell.fn < 0 ? cell.op : data.functions[cell.fn].name);
  const groupsOf = (cell) => (cell.fn < 0 ? cell.groups || [] : data.functions[cell.fn].groups);

  const add = (parent, tag, text, kind) => {
    const made = document.createElement(tag);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    parent.append(made);
    return made;
  };

  const toneOf = (cell) => {
    const groups = groupsOf(cell).map((number) => data.groups[number]);
    if (!groups.length) return cell.fn < 0 ? "run" : "";
    if (cell.fn < 0) return "found";
    const known = groups.reduce((sum, group) => sum + (group.bound ? 0 : group.us), 0);
    return known >= MUCH * data.functions[cell.fn].total ? "found" : "bound";
  };

  const tell = (number) => {
    shown = number;
    detail.replaceChildren();
    if (number < 0) {
      add(detail, "p", "Point at a function or an operator to see what it costs; click to look into it.", "quiet");
      return;
    }
    const cell = data.cells[number];
    const head = add(detail, "p");
    add(head, "b", nameOf(cell), "mono");
    const calls = cell.calls ? ", " + count(cell.calls) + (cell.calls === 1 ? " call" : " calls") : "";
    add(head, "span", "  " + percent(cell.us) + " of the time, " + time(cell.us) + calls + " here", "quiet");
    if (cell.fn >= 0) {
      const fn = data.functions[cell.fn];
      const pace = data.units && fn.calls ? ", " + (fn.calls / data.units).toPrecision(2) + " a " + data.unit : "";
      add(detail, "p", fn.path + ":" + fn.row, "mono");
      const all = fn.calls ? count(fn.calls) + " calls" + pace + ", " : "";
      add(detail, "p", "In all: " + all + time(fn.total) + ", of it " + time(fn.own) + " its own and installed code" +
        (fn.effects ? "; " + fn.effects : ""), "quiet");
    }
    const list = groupsOf(cell).length ? add(detail, "ul") : null;
    for (const place of groupsOf(cell)) {
      const group = data.groups[place];
      const item = add(list, "li");
      add(item, "b", group.code + " ");
      add(item, "span", group.share + " " + group.what + " ");
      add(item, "span", group.places, "mono quiet");
      if (group.fix) add(item, "div", group.fix, "quiet");
    }
  };

  const draw = () => {
    flame.replaceChildren();
    flame.classList.toggle("choosing", chosen >= 0);
    const width = flame.clientWidth;
    const above = [];
    for (let number = top; number >= 0; number = data.cells[number].parent) above.unshift(number);
    let deepest = 0;
    const place = (number, left, room, depth, plain) => {
      const cell = data.cells[number];
      if (room < LEAST) return;
      deepest = Math.max(deepest, depth);
      const made = add(flame, "button", room > 26 ? nameOf(cell) : "", toneOf(cell));
      made.type = "button";
      made.setAttribute("aria-label", nameOf(cell) + ", " + percent(cell.us));
      made.title = nameOf(cell) + ", " + percent(cell.us);
      made.style.left = left + "px";
      made.style.width = room + "px";
      made.style.top = depth * ROW + "px";
      if (chosen >= 0 && groupsOf(cell).includes(chosen)) made.classList.add("lit");
      made.addEventListener("mouseenter", () => tell(number));
      made.addEventListener("focus", () => tell(number));
      made.addEventListener("click", () => look(number === top ? cell.parent : number));
      if (plain) return;
      let from = left;
      const inside = children[number].reduce((sum, child) => sum + data.cells[child].us, 0);
      const scale = room / Math.max(cell.us, inside);
      for (const child of children[number]) {
        place(child, from, data.cells[child].us * scale, depth + 1, false);
        from += data.cells[child].us * scale;
      }
    };
    above.slice(0, -1).forEach((number, depth) => place(number, 0, width, depth, true));
    if (top >= 0) place(top, 0, width, above.length - 1, false);
    else {
      let from = 0;
      for (const root of roots) {
        place(root, from, (data.cells[root].us / whole) * width, 0, false);
        from += (data.cells[root].us / whole) * width;
      }
    }
    flame.style.height = (deepest + 1) * ROW + "px";
    trail.replaceChildren();
    [-1, ...above].forEach((number) => {
      const made = add(trail, "button", number < 0 ? "all" : nameOf(data.cells[number]));
      made.type = "button";
      if (number === top) made.setAttribute("aria-current", "true");
      made.addEventListener("click", () => look(number));
    });
  };

  const look = (number) => {
    top = number;
    draw();
    tell(number);
  };

  const choose = (group) => {
    chosen = chosen === group ? -1 : group;
    for (const row of document.querySelectorAll("tr[data-group]"))
      row.classList.toggle("chosen", Number(row.dataset.group) === chosen);
    top = -1;
    draw();
    const cells = data.cells.map((_, number) => number).filter((number) => groupsOf(data.cells[number]).includes(chosen));
    tell(cells.length ? cells.reduce((best, number) => (data.cells[number].us > data.cells[best].us ? number : best)) : -1);
  };

  for (const row of document.querySelectorAll("tr[data-group]")) {
    row.tabIndex = 0;
    row.addEventListener("click", () => choose(Number(row.dataset.group)));
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        choose(Number(row.dataset.group));
      }
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      chosen = -1;
      for (const row of document.querySelectorAll("tr.chosen")) row.classList.remove("chosen");
      look(-1);
    }
  });
  window.addEventListener("resize", draw);
  look(-1);
})();
