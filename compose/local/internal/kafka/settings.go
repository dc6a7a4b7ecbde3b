package kafka

import "fmt"

// settings is the server.properties.
func (s Server) settings() string {
	return fmt.Sprintf(`# Written anew at each start.
process.roles=broker,controller
node.id=1
# Voters named here rather than kept in the data: the ports may be others at the next start.
controller.quorum.voters=1@127.0.0.1:%[2]d
controller.listener.names=CONTROLLER
listeners=CLIENTS://127.0.0.1:%[1]d,CONTROLLER://127.0.0.1:%[2]d
advertised.listeners=CLIENTS://127.0.0.1:%[1]d
listener.security.protocol.map=CLIENTS:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENTS
log.dirs=%[3]s

# Topics are made by the migrations; an unknown one is a mistake.
auto.create.topics.enable=false

# There is one broker, so one copy; and few groups and transactions, so few partitions.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=4

# A group's first member does not wait for others.
group.initial.rebalance.delay.ms=0

# After SIGKILL the controller refuses the new broker until the session of the old one is over, after 9 s by default.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500

# 128 MB by default, too much of this heap. This takes half a million keys at once.
log.cleaner.dedupe.buffer.size=16777216
`, s.Port, s.ControllerPort, logDir)
}

// logging is the configuration of Kafka's logger: to the standard output, which the stack writes to the log file,
// without the list of all settings, which would be there nine times at each start.
const logging = `rootLogger.level=info
rootLogger.appenderRef.out.ref=out
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{yyyy-MM-dd'T'HH:mm:ss.SSSX}{UTC} %p %c{1} %m%n
logger.config.name=org.apache.kafka.common.config.AbstractConfig
logger.config.level=warn
# Kafka stops in a shutdown hook of its own, and what it says then should be in the log.
shutdownHook=disable
`
