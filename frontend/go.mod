module github.com/weirhq/weir/frontend

go 1.26

ignore ./node_modules
