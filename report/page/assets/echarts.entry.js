// What make echarts bundles into echarts.min.js.gz.
import {use, init, getInstanceByDom, version} from 'echarts/core';
import {LineChart, ScatterChart} from 'echarts/charts';
import {GridComponent, TooltipComponent, LegendComponent, MarkLineComponent, MarkAreaComponent} from 'echarts/components';
import {LabelLayout} from 'echarts/features';
import {CanvasRenderer} from 'echarts/renderers';
use([LineChart, ScatterChart, GridComponent, TooltipComponent, LegendComponent, MarkLineComponent, MarkAreaComponent, LabelLayout, CanvasRenderer]);
export {init, getInstanceByDom, version};
