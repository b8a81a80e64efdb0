package page

import (
	"bytes"
	"slices"
	"strings"
)

// awaiting is the script that waits for a chart. Time is virtual, and ends before a busy machine has made a
// frame, without which nothing comes near: so some of the machine's own goes by too.
const awaiting = `
const work = () => { let x = 1; for (let i = 0; i < 1e6; i++) x = x * 16807 % 2147483647; document.documentElement.dataset.work = x; };
const drawn = async b => { for (let k = 0; k < 10000 && !b.querySelector('canvas'); k++) { work(); await new Promise(ok => setTimeout(ok, 20)); } };
`

// probe adds to the page a script that looks at all of it from inside.
func probe(html []byte) []byte {
	const look = awaiting + `addEventListener('load', async () => {
  const root = document.documentElement, boxes = [...document.querySelectorAll('.chart')];
  const look = async box => {
    const panel = box.closest('[role=tabpanel]');
    if (panel) document.getElementById('tab-' + panel.id).click();
    box.scrollIntoView();
    await drawn(box);
  };
  const standing = () => boxes.filter(b => b.querySelector('canvas')).length;
  root.dataset.xss = window.__xss ? 1 : 0;
  await look(boxes[0]);
  root.dataset.near = boxes[0].querySelector('canvas') && standing() < boxes.length ? 1 : 0;
  await look(boxes[boxes.length - 1]);
  root.dataset.far = boxes[boxes.length - 1].querySelector('canvas') ? 1 : 0;
  const before = root.dataset.theme;
  document.getElementById('theme').click(); // draws anew
  root.dataset.switched = before === undefined && root.dataset.theme ? 1 : 0;
  dispatchEvent(new Event('beforeprint')); // draws all
  root.dataset.stood = root.dataset.ready;
  root.dataset.drawn = boxes.map(b => b.querySelector('canvas')).filter(c => {
    const px = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    const seen = new Set();
    for (let i = 0; i < px.length; i += 4) if (px[i + 3]) seen.add(px[i] << 16 | px[i + 1] << 8 | px[i + 2]);
    return seen.size > 5;
  }).length;
  dispatchEvent(new Event('afterprint'));
  await look(boxes[0]);
  await look(boxes[1]);
  const figure = boxes[1].closest('figure'), list = figure.querySelector('.controls select');
  const shot = () => figure.querySelector('canvas').toDataURL();
  const was = shot();
  list.value = list.options[list.options.length - 1].value;
  list.dispatchEvent(new Event('change'));
  const chosen = shot();
  figure.querySelectorAll('.controls input')[2].click();
  root.dataset.toggled = was !== chosen && chosen !== shot() ? 1 : 0;
  const group = document.querySelector('[data-curves] select'), other = document.querySelector('.workloads input:not(:checked)');
  const pair = () => boxes.slice(0, 2).map(b => b.querySelector('canvas').toDataURL());
  const differ = (a, b) => a.length > 1 && a.every((x, i) => x !== b[i]);
  let last = pair();
  if (group) group.value = 'all workloads';
  if (group) group.dispatchEvent(new Event('change'));
  else if (other) other.click();
  root.dataset.grouped = differ(last, pair()) ? 1 : 0;
  last = pair();
  for (const box of boxes.slice(0, 2)) box.previousElementSibling.querySelector('input').click();
  root.dataset.detailed = differ(last, pair()) ? 1 : 0;
  const table = document.querySelector('[id$=points] table');
  const i = [...table.tHead.rows[0].cells].findIndex(c => /^(output )?tok\/s(\/GPU)?\s/.test(c.textContent));
  const column = () => [...table.tBodies[0].rows].map(r => Number(r.cells[i].textContent.replace(',', '')));
  const rising = xs => xs.every((x, k) => !k || xs[k - 1] <= x);
  const order = column(), button = table.tHead.rows[0].cells[i].querySelector('button');
  button.click();
  const up = rising(column());
  button.click();
  root.dataset.sorted = !rising(order) && up && rising(column().reverse()) ? 1 : 0;
  const copy = document.querySelector('.copy');
  copy.click();
  root.dataset.scrollWidth = root.scrollWidth;
  root.dataset.clientWidth = root.clientWidth;
  setTimeout(() => { root.dataset.copied = copy.textContent === 'CSV' ? 0 : 1; }, 500);
});`
	return with(html, look)
}

// with adds to the page a script that sees what a test can't see in the document. The policy is widened by
// that script's hash alone.
func with(html []byte, look string) []byte {
	escaped := strings.NewReplacer("'", "&#39;", "+", "&#43;")
	html = bytes.Replace(html, []byte(escaped.Replace(hash(pageScript))), []byte(escaped.Replace(hash(pageScript)+" "+hash(look))), 1)
	end := bytes.LastIndex(html, []byte("</body>")) // ECharts has one of its own, in a string
	return slices.Concat(html[:end], []byte("<script>"+look+"</script>"), html[end:])
}
