package workload

type Replicas struct {
	N      int  // 0 = 1
	Sticky bool // all requests of a session go to one of them; without a session one after the other
}

func (p *Plan) Over(r Replicas) *Plan {
	p.replicas = r
	return p
}

// Replica is the index of the replica that a request goes to: by its number or, if that is sticky, its session's. A
// class with an endpoint of its own has no replicas.
func (p *Plan) Replica(r *Request) int {
	n := p.replicasOf(p.named(r.Class))
	if p.replicas.Sticky && r.InSession() {
		return p.inTurn(r.Session, n)
	}
	return p.inTurn(r.Index, n)
}

// inTurn spreads numbers over n replicas in rounds: each replica gets one of n successive numbers, and the seed draws
// with which replica a round begins. Otherwise what comes in turn too, as adapters and turns of conversations do,
// would always meet the same replica.
func (p *Plan) inTurn(number, n int) int {
	begin := mix(mix(p.seed, streamReplica), uint64(number/n)) % uint64(n)
	return (number + int(begin)) % n
}

func (p *Plan) replicasOf(c *Class) int {
	if c.Endpoint != "" {
		return 1
	}
	return max(p.replicas.N, 1)
}

func (p *Plan) named(name string) *Class {
	for i := range p.classes {
		if p.classes[i].Name == name {
			return &p.classes[i]
		}
	}
	return &p.classes[0]
}

// serve passes a request through the pool of one replica. Only requests of one model on one server find each other's
// tokens: a pool holds the prompts of all, with another beginning for each.
func (p *Plan) serve(pool *Pool, r *Request, replica int) (hit int) {
	c := p.named(r.Class)
	answer := p.written(r)
	if (r.Model == "" && c.Endpoint == "" && replica == 0) || len(r.Blocks) == 0 {
		return pool.Serve(r, answer)
	}
	own := *r
	own.Blocks = append([]Block{}, r.Blocks...)
	own.Blocks[0].ID = mix(mix(own.Blocks[0].ID, hash64(c.Endpoint+" "+r.Model)), uint64(replica))
	return pool.Serve(&own, answer)
}

func (p *Plan) prime(pool *Pool) {
	for r := range p.Priming {
		c := p.named(r.Class)
		for _, r.Model = range c.modelsOrNone() {
			for replica := range p.replicasOf(c) {
				p.serve(pool, &r, replica)
			}
		}
	}
}
