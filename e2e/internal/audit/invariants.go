package audit

// invariant is one query that must return no row; a row is the violation in words.
type invariant struct{ name, sql string }

var invariants = []invariant{
	{"a place has two owners", `
		SELECT format('%s: %s and %s', a.gpu, a.id, b.id) FROM allocator.seat a JOIN allocator.seat b
		ON a.gpu = b.gpu AND a.id < b.id AND (a.span && b.span OR a.kind <> b.kind)
		WHERE a.released_at IS NULL AND b.released_at IS NULL`},
	{"a live member lacks its seats", `
		SELECT format('%s holds %s of %s', m.id, count(s.id), m.cards) FROM allocator.member m
		LEFT JOIN allocator.seat s ON s.member = m.id AND s.released_at IS NULL
		WHERE m.ended_at IS NULL GROUP BY m.id HAVING count(s.id) <> m.cards`},
	{"a released member holds a seat", `
		SELECT format('%s holds %s', m.id, s.id) FROM allocator.member m JOIN allocator.seat s ON s.member = m.id
		WHERE m.released_at IS NOT NULL AND s.released_at IS NULL`},
	{"used is not the sum of what lives (org)", `
		SELECT format('%s: %s/%s/%s/%s stored, %s/%s/%s/%s live', coalesce(u.org, l.org), u.gpue_micro, u.instances, u.vcpus_milli, u.ram_mib, l.gpue, l.instances, l.vcpus, l.ram)
		FROM allocator.limit_usage u FULL JOIN (
			SELECT org, sum(gpue_micro) gpue, count(DISTINCT instance) instances, sum(vcpus_milli) vcpus, sum(ram_mib) ram
			FROM allocator.member WHERE counted GROUP BY org) l USING (org)
		WHERE (coalesce(u.gpue_micro, 0), coalesce(u.instances, 0), coalesce(u.vcpus_milli, 0), coalesce(u.ram_mib, 0))
			<> (coalesce(l.gpue, 0), coalesce(l.instances, 0), coalesce(l.vcpus, 0), coalesce(l.ram, 0))`},
	{"used is not the sum of what is held (node)", `
		SELECT format('%s: %s/%s stored, %s/%s held', u.node, u.vcpus_used, u.ram_used, coalesce(h.vcpus, 0), coalesce(h.ram, 0))
		FROM allocator.node_usage u LEFT JOIN (
			SELECT node, sum(vcpus_milli) vcpus, sum(ram_mib) ram FROM allocator.member WHERE released_at IS NULL GROUP BY node) h USING (node)
		WHERE (u.vcpus_used, u.ram_used) <> (coalesce(h.vcpus, 0), coalesce(h.ram, 0))`},
	{"a limit is passed", `
		SELECT format('%s uses %s of %s', u.org, u.gpue_micro, l.gpue_micro) FROM allocator.limit_usage u JOIN allocator.limit_copy l USING (org)
		WHERE u.gpue_micro > l.gpue_micro OR u.instances > l.instances OR u.vcpus_milli > l.vcpus_milli OR u.ram_mib > l.ram_mib`},
	{"usage overlaps", `
		SELECT format('%s: %s and %s', a.member, a.id, b.id) FROM metering.interval a JOIN metering.interval b
		ON a.member = b.member AND a.id < b.id AND a.during && b.during`},
	{"usage is not what the transitions say", `
		SELECT format('%s: billed %s, transitions say %s', coalesce(i.member, t.member), i.ms, t.ms) FROM (
			SELECT member, sum(extract(epoch FROM upper(during) - lower(during)) * 1000)::bigint ms
			FROM metering.interval WHERE NOT upper_inf(during) GROUP BY member) i
		FULL JOIN (
			SELECT member, sum(extract(epoch FROM until - since) * 1000)::bigint ms FROM (
				SELECT member, billable_until AS until,
					coalesce(billable_from, lag(billable_from) OVER (PARTITION BY member ORDER BY seq)) AS since
				FROM allocator.transition WHERE member IS NOT NULL AND (billable_from IS NOT NULL OR billable_until IS NOT NULL)) x
			WHERE until > since GROUP BY member) t USING (member)
		WHERE coalesce(i.ms, 0) <> coalesce(t.ms, 0)`},
	{"an ended member is still billed", `
		SELECT m.id FROM allocator.member m JOIN metering.interval i ON i.member = m.id WHERE m.ended_at IS NOT NULL AND upper_inf(i.during)`},
	{"a running member is not billed", `
		SELECT m.id FROM allocator.member m WHERE m.state = 'running'
		AND NOT EXISTS (SELECT FROM metering.interval i WHERE i.member = m.id AND upper_inf(i.during))`},
	{"metering refused a fact", `SELECT format('%s: %s %s', member, code, detail) FROM metering.refused_fact`},
	{"an ended instance has a living member", `
		SELECT format('%s is %s, its member %s %s', i.id, i.state, m.id, m.state) FROM allocator.instance i JOIN allocator.member m ON m.instance = i.id
		WHERE i.state IN ('stopped', 'failed', 'lost') AND m.ended_at IS NULL`},
}
